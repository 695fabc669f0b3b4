import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type BytePath, toText } from './byte-path.js';
import type { GitLimits } from './git-limits.js';
import type { Oid } from './oid.js';
import { takeOwnCommits } from './own-commits.js';
import { type Scan, scanWorkspace } from './scan-workspace.js';
import { holdsCommit, treeOf } from './store.js';
import { readSubmodulesRef } from './submodules-ref.js';
import { filesOfTree, writeWorkspaceTree } from './workspace-tree.js';

interface Link {
  readonly path: BytePath;
  readonly oid: Oid;
}

interface SubmodulesAsked {
  readonly dir: string;
  /** Ours; the agent's own repositories are read as data only. */
  readonly gitDir: string;
  /** Where the base has a link and the workspace a folder. */
  readonly links: readonly Link[];
  readonly include: readonly BytePath[];
  readonly limits: GitLimits;
  /** A path where no index is yet. */
  readonly newIndex: () => string;
  /** Names in the index of the agent's repository in that folder. */
  readonly namesInIndex: (folder: string) => Promise<readonly BytePath[]>;
}

export interface SubmodulesCaptured {
  /** As they were: the link stays. */
  readonly links: readonly Link[];
  /** Files of changed ones, which take the place of their link. */
  readonly taken: readonly BytePath[];
  /** Not checked out by us: as `captureWorkspace` did without. */
  readonly foreign: readonly BytePath[];
  /** Changed ones, with the head of commits that were made in them. */
  readonly changed: readonly { readonly path: string; readonly head?: Oid; readonly left?: string }[];
  readonly skipped: Scan['skipped'];
  readonly nested: readonly BytePath[];
  /** Commits that the controller has, so that their objects need not go up. */
  readonly known: readonly Oid[];
}

/**
 * Compares each submodule that was checked out with its commit, file by file: nothing that lies in its `.git` can hide a change, and
 * none of it runs (H2). Unchanged, or emptied, it stays the link that it was. Changed, all its files become ordinary files of the
 * workspace in place of the link, so that none is lost, whoever may or may not write to the submodule's origin.
 */
export async function captureSubmodules(asked: SubmodulesAsked): Promise<SubmodulesCaptured> {
  if (asked.links.length === 0 || (await readSubmodulesRef(asked.gitDir)) === undefined)
    return { ...nothing, links: asked.links, foreign: asked.links.map(({ path }) => path) };
  let all: SubmodulesCaptured = nothing;
  for (const link of asked.links) all = together(all, await captureOne(asked, link));
  return all;
}

const nothing: SubmodulesCaptured = {
  links: [],
  taken: [],
  foreign: [],
  changed: [],
  skipped: [],
  nested: [],
  known: [],
};

async function captureOne(asked: SubmodulesAsked, link: Link): Promise<SubmodulesCaptured> {
  const { gitDir, limits } = asked;
  if (!(await holdsCommit(gitDir, link.oid))) return { ...nothing, links: [link], foreign: [link.path] };
  const known = { ...nothing, known: [link.oid] };
  const dir = join(asked.dir, toText(link.path));
  if ((await readdir(dir)).length === 0) return { ...known, links: [link] };
  const below = (path: BytePath): BytePath => `${link.path}/${path}`;
  const own = await takeOwnCommits({ dir, gitDir, since: link.oid, limits });
  const before = await filesOfTree(gitDir, link.oid, limits);
  const inHead = own.kind === 'taken' ? [...(await filesOfTree(gitDir, own.head, limits)).files.keys()] : [];
  const scan = await scanWorkspace({
    dir,
    gitDir,
    base: before.files,
    links: new Set(before.links.keys()),
    known: new Set([...(await asked.namesInIndex(dir)), ...inHead]),
    include: asked.include.flatMap((path) => (path.startsWith(below('')) ? [path.slice(below('').length)] : [])),
    taskDirectory: undefined,
    limits,
  });
  const inner = await captureSubmodules({
    ...asked,
    links: scan.links.flatMap((path) => {
      const oid = before.links.get(path);
      return oid === undefined ? [] : [{ path: below(path), oid }];
    }),
  });
  const tree = await writeWorkspaceTree({
    dir,
    gitDir,
    index: asked.newIndex(),
    taken: [...scan.taken, ...inner.taken.map((path) => path.slice(below('').length))],
    links: inner.links.map(({ path, oid }) => ({ path: path.slice(below('').length), oid })),
    limits,
  });
  const left = { ...known, skipped: scan.skipped.map(({ path, reason }) => ({ path: below(path), reason })) };
  const head = own.kind === 'taken' ? { head: own.head } : own.kind === 'left' ? { left: own.reason } : {};
  const same = tree === (await treeOf(gitDir, link.oid));
  // commits that come to nothing in the files still go along
  const changed = same && own.kind !== 'taken' ? [] : [{ path: toText(link.path), ...head }];
  if (same)
    return {
      ...left,
      links: [link],
      changed: [...changed, ...inner.changed],
      known: [link.oid, ...inner.known],
    };
  const files = {
    ...left,
    taken: scan.taken.map(below),
    nested: scan.nested.map(below),
    changed,
  };
  return together(files, inner);
}

function together(one: SubmodulesCaptured, other: SubmodulesCaptured): SubmodulesCaptured {
  return {
    links: [...one.links, ...other.links],
    taken: [...one.taken, ...other.taken],
    foreign: [...one.foreign, ...other.foreign],
    changed: [...one.changed, ...other.changed],
    skipped: [...one.skipped, ...other.skipped],
    nested: [...one.nested, ...other.nested],
    known: [...one.known, ...other.known],
  };
}
