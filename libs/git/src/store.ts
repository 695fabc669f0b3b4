import { appendFile, mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { systemCodeOf } from '#contracts';
import { syncToDisk, withFolder } from './folders.js';
import { git } from './git.js';
import { isOid, type Oid, oidOf } from './oid.js';

/** A Task's bare repository on the controller: a store of objects that owns all of them (H19). Refs in it are pins, not state. */
export interface ObjectStore {
  readonly dir: string;
}

/** Older than this, a quarantine belongs to a process that died. */
const abandonedMs = 24 * 3_600_000;

/**
 * Opens the store, makes it first if it is not there. Safe to call from several controllers at once; `gc` is off, so nothing that
 * was accepted ever goes.
 */
export async function openStore(dir: string): Promise<ObjectStore> {
  const store = { dir: resolve(dir) };
  const quarantines = join(store.dir, 'quarantine');
  if (await exists(quarantines)) {
    await removeAbandoned(quarantines);
    return store;
  }
  await mkdir(dirname(store.dir), { recursive: true });
  await withFolder(dirname(store.dir), async (folder) => {
    const draft = join(folder, 'store.git');
    await fillStore(draft);
    // whole or not there: two that make it at once do not meet in it
    await rename(draft, store.dir).catch((error: unknown) => {
      if (!isTaken(error)) throw error;
    });
  });
  // what a process left half made before
  if (!(await exists(quarantines))) await fillStore(store.dir);
  await syncToDisk(dirname(store.dir));
  return store;
}

async function fillStore(dir: string): Promise<void> {
  await initBare(dir);
  await mkdir(join(dir, 'bundles'), { recursive: true });
  // last, because its presence says that the rest is there
  await mkdir(join(dir, 'quarantine'), { recursive: true });
  await syncToDisk(dir);
}

function isTaken(error: unknown): boolean {
  const code = systemCodeOf(error);
  return code === 'ENOTEMPTY' || code === 'EEXIST';
}

/** A bare repository without templates, hooks or gc, in which files are bytes. */
export async function initBare(dir: string): Promise<void> {
  await git(['init', '--quiet', '--bare', '--template=', '--object-format=sha1', '--initial-branch=main', dir]);
  await appendFile(join(dir, 'config'), '[gc]\n\tauto = 0\n');
  await writeRawAttributes(dir);
}

/**
 * Takes every conversion away: what is captured is what lies there, byte for byte, and no filter of a `.gitattributes` runs.
 * `info/attributes` is the one place that outranks those files.
 */
export async function writeRawAttributes(gitDir: string): Promise<void> {
  await mkdir(join(gitDir, 'info'), { recursive: true });
  await writeFile(join(gitDir, 'info', 'attributes'), '* -filter -text -ident -eol !working-tree-encoding\n');
}

/** The root commit of a Task without a source. The same in every store. */
export async function emptyBase(store: ObjectStore): Promise<Oid> {
  const tree = oidOf((await git(['mktree'], { gitDir: store.dir, input: '' })).text);
  const who = { name: 'Longshore', email: 'longshore@localhost' };
  return commitTree(store.dir, {
    tree,
    parents: [],
    message: 'Begin with an empty repository',
    author: who,
    when: new Date(0),
  });
}

export interface Person {
  readonly name: string;
  readonly email: string;
}

interface CommitParts {
  readonly tree: Oid;
  readonly parents: readonly Oid[];
  readonly message: string;
  readonly author: Person;
  readonly when: Date;
}

/** Writes a commit. The same parts give the same id, whoever writes it and when (D21). */
export async function commitTree(
  gitDir: string,
  parts: CommitParts,
  options: { readonly durable?: boolean; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<Oid> {
  const answer = await git(['hash-object', '-t', 'commit', '-w', '--stdin'], {
    gitDir,
    input: commitText(parts),
    durable: options.durable ?? true,
    ...(options.env === undefined ? {} : { env: options.env }),
  });
  return oidOf(answer.text);
}

/** A commit's content, as git keeps it. */
export function commitText({ tree, parents, message, author, when }: CommitParts): string {
  const name = clean(author.name) || 'Longshore';
  const email = clean(author.email) || 'longshore@localhost';
  const who = `${name} <${email}> ${Math.floor(when.getTime() / 1000)} +0000`;
  return [
    `tree ${tree}`,
    ...parents.map((parent) => `parent ${parent}`),
    `author ${who}`,
    `committer ${who}`,
    '',
    message.endsWith('\n') ? message : `${message}\n`,
  ].join('\n');
}

// what would break the commit's header line
function clean(text: string): string {
  return text.replaceAll(/[\p{Cc}<>]/gu, ' ').trim();
}

/** The tree of a commit that is there. */
export async function treeOf(gitDir: string, commit: Oid): Promise<Oid> {
  return oidOf((await git(['rev-parse', '--verify', '--quiet', `${commit}^{tree}`], { gitDir })).text);
}

/** The tree of a commit that may not be there. */
export async function treeIfThere(gitDir: string, commit: Oid): Promise<Oid | undefined> {
  const { text } = await git(['rev-parse', '--verify', '--quiet', `${commit}^{commit}^{tree}`], {
    gitDir,
    accept: 'any',
  });
  return isOid(text) ? text : undefined;
}

/** Whether the commit is in the store. */
export async function holdsCommit(
  gitDir: string,
  commit: Oid,
  env: Readonly<Record<string, string>> = {},
): Promise<boolean> {
  return (await git(['cat-file', '-e', `${commit}^{commit}`], { gitDir, env, accept: 'any' })).exitCode === 0;
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

async function removeAbandoned(quarantines: string): Promise<void> {
  for (const name of await readdir(quarantines)) {
    const path = join(quarantines, name);
    const seen = await stat(path).catch(() => undefined);
    if (seen !== undefined && Date.now() - seen.mtimeMs > abandonedMs) await rm(path, { recursive: true, force: true });
  }
}
