import { constants } from 'node:fs';
import { copyFile, link, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { git } from './git.js';
import type { Oid } from './oid.js';
import { type Person, writeRawAttributes } from './store.js';

/** The branch that a member finds checked out. */
export async function branchOf(name: string): Promise<string> {
  const branch = `longshore/${name}`;
  await git(['check-ref-format', `refs/heads/${branch}`]);
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
  await git(['config', 'core.autocrlf', 'false'], { gitDir: dotGit, durable: false });
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

/** Gives the agent's repository its branch at the base, its author, and an index, so that its first status has nothing to read. */
export async function pointAgentRepository({ dotGit, base, branch, author, exclude, index }: AgentHead): Promise<void> {
  const call = { gitDir: dotGit, durable: false };
  await git(['config', 'user.name', author.name], call);
  await git(['config', 'user.email', author.email], call);
  await writeFile(join(dotGit, 'info', 'exclude'), exclude.map((name) => `/${name}\n`).join(''));
  await git(['symbolic-ref', 'HEAD', `refs/heads/${branch}`], call);
  await git(['update-ref', `refs/heads/${branch}`, base], call);
  await copyFile(index, join(dotGit, 'index'));
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
