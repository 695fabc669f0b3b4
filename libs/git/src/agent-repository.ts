import { constants } from 'node:fs';
import { appendFile, copyFile, link, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { git } from './git.js';
import type { Oid } from './oid.js';
import { type Person, writeRawAttributes } from './store.js';

/** The branch that a member finds checked out. */
export async function branchOf(name: string): Promise<string> {
  const branch = `longshore/${name}`;
  // what needs no second look asks no git: a workspace waits for this
  if (!/^[\w-]+$/.test(name)) await git(['check-ref-format', `refs/heads/${branch}`]);
  return branch;
}

/**
 * The repository that the agent sees, without a head yet. Made fresh each time: what an agent left in an old one never runs.
 *
 * `copy`: the agent can write it, and our GIT_DIR must stay as it is. `link` only for one that nobody can write: a lower layer.
 */
export async function writeAgentRepository(dotGit: string, gitDir: string, objects: 'copy' | 'link'): Promise<void> {
  await rm(dotGit, { recursive: true, force: true });
  await git(['init', '--quiet', '--template=', '--object-format=sha1', dirname(dotGit)], { durable: false });
  // the agent's own git sees the bytes that a capture sees
  await appendFile(join(dotGit, 'config'), '[core]\n\tautocrlf = false\n');
  await writeRawAttributes(dotGit);
  await takeObjects(join(gitDir, 'objects'), join(dotGit, 'objects'), objects);
}

export interface AgentHead {
  readonly dotGit: string;
  readonly base: Oid;
  readonly branch: string;
  readonly author: Person;
  readonly exclude: readonly string[];
  /** The index of the files that lie there. */
  readonly index: string;
}

/**
 * Gives a fresh repository for an agent its branch at the base, its author, and an index, so that its first status has nothing to
 * read. These are plain files of git's, written without it: a workspace waits for this.
 */
export async function pointAgentRepository({ dotGit, base, branch, author, exclude, index }: AgentHead): Promise<void> {
  const ref = join(dotGit, 'refs', 'heads', branch);
  await mkdir(dirname(ref), { recursive: true });
  await writeFile(ref, `${base}\n`);
  await writeFile(join(dotGit, 'HEAD'), `ref: refs/heads/${branch}\n`);
  await appendFile(join(dotGit, 'config'), authorLines(author));
  await writeFile(join(dotGit, 'info', 'exclude'), exclude.map((name) => `/${name}\n`).join(''));
  await copyFile(index, join(dotGit, 'index'));
}

/** What git would write: values in quotes, so that nothing in a name ends its line. */
function authorLines({ name, email }: Person): string {
  const quoted = (value: string): string =>
    `"${value
      .replaceAll(/\p{Cc}/gu, ' ')
      .replaceAll('\\', '\\\\')
      .replaceAll('"', '\\"')}"`;
  return `[user]\n\tname = ${quoted(name)}\n\temail = ${quoted(email)}\n`;
}

async function takeObjects(from: string, to: string, how: 'copy' | 'link'): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) await takeObjects(source, target, how);
    else if (!entry.isFile()) continue;
    else if (how === 'link') await link(source, target);
    else await copyFile(source, target, constants.COPYFILE_FICLONE);
  }
}
