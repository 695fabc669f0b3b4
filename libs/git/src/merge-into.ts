import { join } from 'node:path';
import { FarmError } from '#contracts';
import type { GitLimits } from './git-limits.js';
import { type GitLoop, openGitLoop } from './git-loop.js';
import { writeLooseCommit } from './loose-commit.js';
import { isOid, type Oid, requireOid } from './oid.js';
import { probeTree } from './probe-tree.js';
import { type OpenQuarantine, openQuarantine } from './quarantine.js';
import { commitText, type ObjectStore, type Person } from './store.js';

/** What is merged into a line. */
interface Branch {
  readonly theirs: Oid;
  /** Where the branch began; when it still stands there it brings nothing. */
  readonly base?: Oid;
  readonly message: string;
  readonly author: Person;
  readonly when: Date;
}

interface Into {
  /** The line that takes. */
  readonly ours: Oid;
  readonly limits?: Partial<GitLimits>;
}

export interface MergeAsked extends Into {
  /** One after the other, each into what the one before has left. */
  readonly branches: readonly Branch[];
}

export type Merge =
  | { readonly outcome: 'no_changes' }
  | { readonly outcome: 'already_merged' }
  | { readonly outcome: 'merged'; readonly commit: Oid }
  | { readonly outcome: 'conflict'; readonly files: readonly string[] }
  | { readonly outcome: 'error'; readonly reason: string };

export interface MergedLine {
  /** Where the line stands now: the last merge, or where it stood. */
  readonly head: Oid;
  /** One for each branch, in their order. */
  readonly merges: readonly Merge[];
}

/**
 * Merges branches into a line and moves no ref. The same arguments give the same commits, so it may be killed and begun again
 * (H6, D21). Whether a branch was merged before is read from the history, never guessed from the content. What was merged is
 * probed by a checkout, then enters the store as one pack, on disk before this returns (H4); of what nobody could check out
 * nothing does.
 *
 * `already_merged` is also said when a branch brings only what is there; `error` when a commit is missing, the histories have
 * nothing in common, or nobody could check out the result.
 *
 * @throws FarmError `timeout`, `disk_full`
 */
export async function mergeInto(store: ObjectStore, { branches, ...into }: MergeAsked): Promise<MergedLine> {
  const merging = await openMerging(store, into);
  try {
    await merging.take(branches);
    return await merging.finish();
  } finally {
    await merging.close();
  }
}

/** The same by and by: for branches that are not all there yet. One call at a time. */
export interface Merging {
  /** Merges more, in their order, after those that it has. Throws as `mergeInto`; then it is of no more use. */
  take(branches: readonly Branch[]): Promise<void>;
  /** Of all that it took; the last call but `close`. Throws as `mergeInto`. */
  finish(): Promise<MergedLine>;
  /** Nothing is left of what did not enter the store. Throws as `mergeInto`. */
  close(): Promise<void>;
}

export async function openMerging(store: ObjectStore, into: Into): Promise<Merging> {
  requireOid(into.ours);
  return new Line(store, into, await openQuarantine(store.dir, join(store.dir, 'quarantine')));
}

/** A line while branches are merged into it. New objects are in quarantine, and not made to last there. */
class Line implements Merging {
  private head: Oid;
  private opened: GitLoop | undefined;
  private readonly trees = new Map<Oid, Oid>();
  private readonly branches: Branch[] = [];
  private merges: Merge[] = [];

  constructor(
    private readonly store: ObjectStore,
    private readonly into: Into,
    private readonly quarantine: OpenQuarantine,
  ) {
    this.head = into.ours;
  }

  /** Begun when it is needed: where nobody has changed anything no git is. */
  private get loop(): GitLoop {
    const { folder, withRepository } = this.quarantine;
    const env = { ...withRepository, GIT_INDEX_FILE: join(folder, 'index') };
    this.opened ??= openGitLoop({ gitDir: this.store.dir, folder, env, limits: this.into.limits });
    return this.opened;
  }

  async take(branches: readonly Branch[]): Promise<void> {
    await this.look(branches);
    this.branches.push(...branches);
    for (const branch of branches) this.merges.push(await this.merge(branch, 'unprobed'));
  }

  async finish(): Promise<MergedLine> {
    // The last tree holds all of them and says the same of each: only where it can not be checked out, each is probed.
    if (!(await this.passes(this.head))) await this.takeAllAnew();
    if (this.head !== this.into.ours) {
      await this.pack(this.head);
      await this.quarantine.admit();
    }
    return { head: this.head, merges: this.merges };
  }

  async close(): Promise<void> {
    try {
      await this.opened?.end();
    } finally {
      await this.quarantine.remove();
    }
  }

  /** Which commits are there, and their trees. */
  private async look(branches: readonly Branch[]): Promise<void> {
    const named = branches
      .filter(hasMoved)
      .flatMap(({ theirs, base }) => (base === undefined ? [theirs] : [theirs, base]));
    if (named.length === 0) return;
    const commits = [...new Set([this.into.ours, ...named.map(requireOid)])].filter((oid) => !this.trees.has(oid));
    const input = commits.map((oid) => `${oid}^{tree}\n`).join('');
    const answer = await this.loop.run(['cat-file', '--batch-check=%(objectname)'], input);
    const said = answer.stdout.toString().split('\n');
    for (const [n, oid] of commits.entries()) {
      const tree = said[n] ?? '';
      if (isOid(tree)) this.trees.set(oid, tree);
    }
  }

  /** From where the line stood; nothing is taken that could not be checked out. */
  private async takeAllAnew(): Promise<void> {
    this.head = this.into.ours;
    this.merges = [];
    for (const branch of this.branches) this.merges.push(await this.merge(branch, 'probed'));
  }

  private async merge(branch: Branch, how: 'probed' | 'unprobed'): Promise<Merge> {
    const { theirs, base } = branch;
    if (!hasMoved(branch)) return { outcome: 'no_changes' };
    // first, because merge-tree ends with 1 for a missing commit as it does for a conflict
    const [ourTree, theirTree] = [this.trees.get(this.head), this.trees.get(theirs)];
    if (ourTree === undefined || theirTree === undefined)
      return { outcome: 'error', reason: 'A commit of the merge is not in the store.' };
    if (base !== undefined && this.trees.get(base) === theirTree) return { outcome: 'no_changes' };
    const merge = await this.mergeTrees(theirs);
    if ('outcome' in merge) return merge;
    if (merge.tree === ourTree) return { outcome: 'already_merged' };
    const commit = await this.commit(merge.tree, branch);
    if (how === 'probed' && !(await this.passes(commit)))
      return { outcome: 'error', reason: 'The merged tree can not be checked out.' };
    this.head = commit;
    return { outcome: 'merged', commit };
  }

  private async mergeTrees(theirs: Oid): Promise<Merge | { readonly tree: Oid }> {
    const asked = ['merge-tree', '--write-tree', '-z', '--name-only', '--no-messages', this.head, theirs];
    const { exitCode, stdout } = await this.loop.run(asked);
    const [tree = '', ...files] = stdout.toString().split('\0');
    if (exitCode === 1) return { outcome: 'conflict', files: [...new Set(files.filter((file) => file !== ''))] };
    if (exitCode === 0 && isOid(tree)) return { tree };
    const related = await this.loop.run(['merge-base', this.head, theirs]);
    return { outcome: 'error', reason: related.exitCode === 1 ? strangers : 'git could not merge the two commits.' };
  }

  private async commit(tree: Oid, { theirs, message, author, when }: Branch): Promise<Oid> {
    const text = commitText({ tree, parents: [this.head, theirs], message, author, when });
    const commit = await writeLooseCommit(join(this.quarantine.folder, 'objects'), text);
    this.trees.set(commit, tree);
    return commit;
  }

  /** Whether the tree of a merge could be checked out. What stood there before could. */
  private async passes(head: Oid): Promise<boolean> {
    const { ours } = this.into;
    return head === ours || probeTree(this.loop, this.quarantine.folder, ours, this.trees.get(head) ?? head);
  }

  /** Packs what the merges made and nothing else, on disk: what a refused one made stays behind. */
  private async pack(head: Oid): Promise<void> {
    const there = [this.into.ours, ...this.branches.map(({ theirs }) => theirs)];
    const wanted = [head, ...there.filter((oid) => this.trees.has(oid)).map((oid) => `^${oid}`)];
    const durably = ['-c', 'core.fsync=committed'];
    const packed = await this.loop.run(
      [...durably, 'pack-objects', '--revs', '--quiet', '--threads=1', 'objects/pack/pack'],
      `${wanted.join('\n')}\n`,
    );
    if (packed.exitCode !== 0) throw new FarmError('internal', 'The merges could not be packed.');
  }
}

function hasMoved({ theirs, base }: Branch): boolean {
  return theirs !== base;
}

const strangers = 'The two commits have no history in common.';
