import { copyFile, lstat, mkdir, realpath, stat, utimes } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { FarmError } from '#contracts';
import { writeBundle } from './bundle.js';
import { type BytePath, bytesOf, fromBytes, fromText, joinPaths, splitPaths, toText } from './byte-path.js';
import { withFolder } from './folders.js';
import { type GitCall, git } from './git.js';
import { type GitLimits, gitLimits } from './git-limits.js';
import { type Oid, oidOf } from './oid.js';
import { alternate } from './quarantine.js';
import { commitTree } from './store.js';

export interface CheckoutBundle {
  readonly bundle: string;
  readonly bytes: number;
  readonly sha256: string;
  /** The user's HEAD. */
  readonly head: Oid;
  /** What the Task starts from: `head`, or one commit on it that holds the dirty state. */
  readonly base: Oid;
  readonly dirty: boolean;
  /** Untracked repositories inside the checkout: not part of the source. */
  readonly nested: readonly string[];
}

/**
 * Bundles the user's own checkout: HEAD, and staged, unstaged and untracked files (ignored ones not) as ONE commit on it, so
 * that the user's unfinished work is in the base of the Task and never in its delta (W8).
 *
 * Index, refs, working tree and reflog of the user stay as they are; new objects go to a temporary folder. The user's own
 * configuration counts here, so that ignore rules and filters mean what `git status` says; hooks and fsmonitor do not run.
 *
 * @throws FarmError `source_refused` with a hint, for what is no source: missing, no repository, no commits, shallow (D19),
 * partial, over `sourceBytes` · `disk_full` · `timeout`
 */
export async function bundleCheckout(asked: {
  readonly dir: string;
  readonly out: string;
  readonly limits?: Partial<GitLimits>;
}): Promise<CheckoutBundle> {
  const limits = gitLimits(asked.limits);
  const checkout = await openCheckout(asked.dir, limits);
  const out = resolve(asked.out);
  return withFolder(dirname(out), async (folder) => {
    const unfinished = await commitUnfinished(checkout, folder, limits);
    const base = unfinished.commit ?? checkout.head;
    const written = await writeBundle(
      { ...checkout.call, env: unfinished.env },
      { commit: base, path: out, maxBytes: limits.sourceBytes, quick: true },
    ).catch((fault: unknown) => {
      if (!(fault instanceof FarmError) || fault.code !== 'too_large') throw fault;
      throw refused(
        'The history of the checkout is larger than a source may be.',
        'Give the Task a registered git URL instead.',
      );
    });
    return {
      bundle: written.path,
      bytes: written.bytes,
      sha256: written.sha256,
      head: checkout.head,
      base,
      dirty: unfinished.commit !== undefined,
      nested: unfinished.nested,
    };
  });
}

interface Checkout {
  readonly root: string;
  readonly head: Oid;
  readonly call: GitCall;
}

const refused = (why: string, hint: string): FarmError => new FarmError('source_refused', why, { hint });

/** Each thing that is no source is refused by its own name. */
async function openCheckout(dir: string, limits: GitLimits): Promise<Checkout> {
  const seen = await stat(dir).catch(() => undefined);
  if (seen === undefined) throw refused('The folder does not exist.', 'Name a folder that is a git checkout.');
  if (!seen.isDirectory()) throw refused('The source is not a folder.', 'Name a folder that is a git checkout.');
  const anywhere = { cwd: await realpath(dir), settings: 'user', limits } as const;
  const ask = (args: readonly string[]) => git(args, { ...anywhere, accept: 'any' });

  const top = await ask(['rev-parse', '--show-toplevel']);
  if (top.exitCode !== 0) {
    if (/dubious ownership/.test(top.stderr)) {
      throw refused(
        'The checkout belongs to another user.',
        'Tell git that you trust it: `git config --global --add safe.directory <folder>`.',
      );
    }
    if (/must be run in a work tree/.test(top.stderr)) {
      throw refused('The repository is bare: it has no working tree.', 'Name a checkout of it.');
    }
    throw refused(
      'The folder is not a git repository.',
      'Run `git init` and commit in it, or start the Task with an empty repository.',
    );
  }
  const root = top.stdout.toString().replace(/\n$/, '');
  const call = { ...anywhere, cwd: root };
  const [format, shallow] = (await ask(['rev-parse', '--show-object-format', '--is-shallow-repository'])).text.split(
    '\n',
  );
  if (format !== 'sha1')
    throw refused('The repository uses another object format than sha1.', 'Convert it to sha1 first.');
  const head = await ask(['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']);
  if (head.exitCode !== 0)
    throw refused(
      'The repository has no commits yet.',
      'Commit something first, or start the Task with an empty repository.',
    );
  if (shallow === 'true') {
    throw refused(
      'The checkout is shallow: a part of its history is missing.',
      'Run `git fetch --unshallow` in it and try again.',
    );
  }
  const partial = await ask(['config', '--get-regexp', '^(extensions\\.partialclone|remote\\..*\\.promisor)$']);
  if (partial.exitCode === 0) {
    throw refused(
      'The checkout is a partial clone: objects of its history are missing.',
      'Clone it again without `--filter` and try again.',
    );
  }
  return { root, head: oidOf(head.text), call };
}

interface Unfinished {
  readonly commit?: Oid;
  readonly env: Readonly<Record<string, string>>;
  readonly nested: readonly string[];
}

/** The dirty state as one commit on HEAD, in an index and an object folder of our own. */
async function commitUnfinished(checkout: Checkout, folder: string, limits: GitLimits): Promise<Unfinished> {
  const { root, head, call } = checkout;
  const objects = join(folder, 'objects');
  await mkdir(join(objects, 'pack'), { recursive: true });
  const [index, usersObjects] = [await gitPath(checkout, 'index'), await gitPath(checkout, 'objects')];
  const env = {
    GIT_INDEX_FILE: join(folder, 'index'),
    GIT_OBJECT_DIRECTORY: objects,
    GIT_ALTERNATE_OBJECT_DIRECTORIES: alternate(usersObjects),
  };
  const here = { ...call, env, durable: false };
  await copyIndex(index, env.GIT_INDEX_FILE).catch(() => git(['read-tree', head], here));
  await seeAssumedUnchanged(here);
  const listed = await git(['ls-files', '-z', '--modified', '--deleted', '--others', '--exclude-standard'], here);
  const names = [...new Set(splitPaths(listed.stdout))];
  const nested = names.filter((name) => name.endsWith('/'));
  const changed = names.filter((name) => !name.endsWith('/'));
  await checkSize(root, changed, limits);
  await git(['update-index', '--add', '--remove', '--replace', '-z', '--stdin'], {
    ...here,
    input: joinPaths(changed),
  });
  const tree = oidOf((await git(['write-tree'], here)).text);
  const known = { env, nested: nested.map((name) => toText(name.slice(0, -1))) };
  const [headTree, seconds] = (await git(['show', '--no-patch', '--format=%T %ct', head], here)).text.split(' ');
  if (tree === headTree) return known;
  return {
    ...known,
    commit: await commitTree(
      await gitDirOf(checkout),
      {
        tree,
        parents: [head],
        message: 'Unfinished work in the checkout that the Task started from',
        author: { name: 'Longshore', email: 'longshore@localhost' },
        // the date of HEAD: the same checkout twice is the same base
        when: new Date(Number(seconds) * 1000),
      },
      { durable: false, env },
    ),
  };
}

/**
 * A copy keeps the times of the work tree, so that only what changed is read. It keeps its own time too: by it git knows which
 * files were edited in the second in which the index was written, and a younger copy would hide those edits.
 */
async function copyIndex(from: string, to: string): Promise<void> {
  const { mtimeMs } = await stat(from);
  await copyFile(from, to);
  const second = Math.floor(mtimeMs / 1000);
  await utimes(to, second, second);
}

/** In a copied index the flag would go on hiding edits. */
async function seeAssumedUnchanged(call: GitCall): Promise<void> {
  const flagged = (await git(['ls-files', '-z', '-v'], call)).stdout;
  const hidden = fromBytes(flagged)
    .split('\0')
    .flatMap((line) => (/^[a-z] /.test(line) ? [line.slice(2)] : []));
  if (hidden.length > 0)
    await git(['update-index', '--no-assume-unchanged', '-z', '--stdin'], { ...call, input: joinPaths(hidden) });
}

async function checkSize(root: string, changed: readonly BytePath[], limits: GitLimits): Promise<void> {
  let bytes = 0;
  for (const path of changed) {
    const seen = await lstat(bytesOf(`${fromText(root)}/${path}`)).catch(() => undefined);
    if (seen?.isFile() === true) bytes += seen.size;
    if (bytes > limits.sourceBytes) {
      throw refused(
        'The changed and untracked files of the checkout are larger than a source may be.',
        'Commit them, delete them or name them in .gitignore, and try again.',
      );
    }
  }
}

/** Right in linked worktrees too. */
async function gitPath(checkout: Checkout, name: string): Promise<string> {
  const path = (await git(['rev-parse', '--git-path', name], checkout.call)).stdout.toString().replace(/\n$/, '');
  return isAbsolute(path) ? path : join(checkout.root, path);
}

async function gitDirOf(checkout: Checkout): Promise<string> {
  return (await git(['rev-parse', '--absolute-git-dir'], checkout.call)).stdout.toString().replace(/\n$/, '');
}
