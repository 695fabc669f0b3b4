import { join } from 'node:path';
import { FarmError } from '#contracts';
import type { GitLimits } from './git-limits.js';
import { type GitLoop, openGitLoop } from './git-loop.js';
import { writeLooseCommit } from './loose-commit.js';
import { isOid, type Oid, requireOid } from './oid.js';
import { probeTree } from './probe-tree.js';
import { inQuarantine, type Quarantine } from './quarantine.js';
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

export interface MergeAsked {
  /** The line that takes. */
  readonly ours: Oid;
  /** One after the other, each into what the one before has left. */
  readonly branches: readonly Branch[];
  readonly limits?: Partial<GitLimits>;
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
export function mergeInto(store: ObjectStore, asked: MergeAsked): Promise<MergedLine> {
  return inQuarantine(store.dir, join(store.dir, 'quarantine'), async (quarantine) => {
    const line = new Line(store, asked, quarantine);
    try {
      await line.look();
      let merged = await line.takeAll('unprobed');
      // The last tree holds all of them and says the same of each: only where it can not be checked out, each is probed.
      if (!(await line.passes(merged.head))) merged = await line.takeAll('probed');
      if (merged.head === asked.ours) return merged;
      await line.pack(merged.head);
      await quarantine.admit();
      return merged;
    } finally {
      await line.close();
    }
  });
}

/** A line while branches are merged into it. New objects are in quarantine, and not made to last there. */
class Line {
  private head: Oid;
  private readonly loop: GitLoop;
  private readonly trees = new Map<Oid, Oid>();

  constructor(
    { dir }: ObjectStore,
    private readonly asked: MergeAsked,
    private readonly quarantine: Quarantine,
  ) {
    const { folder, withRepository } = quarantine;
    this.head = requireOid(asked.ours);
    const env = { ...withRepository, GIT_INDEX_FILE: join(folder, 'index') };
    this.loop = openGitLoop({ gitDir: dir, folder, env, limits: asked.limits });
  }

  /** Which commits are there, and their trees. */
  async look(): Promise<void> {
    const named = this.asked.branches.flatMap(({ theirs, base }) => (base === undefined ? [theirs] : [theirs, base]));
    const commits = [...new Set([this.head, ...named.map(requireOid)])];
    const input = commits.map((oid) => `${oid}^{tree}\n`).join('');
    const answer = await this.loop.run(['cat-file', '--batch-check=%(objectname)'], input);
    const said = answer.stdout.toString().split('\n');
    for (const [n, oid] of commits.entries()) {
      const tree = said[n] ?? '';
      if (isOid(tree)) this.trees.set(oid, tree);
    }
  }

  /** From where the line stood; `probed`: nothing is taken that could not be checked out. */
  async takeAll(how: 'probed' | 'unprobed'): Promise<MergedLine> {
    this.head = this.asked.ours;
    const merges: Merge[] = [];
    for (const branch of this.asked.branches) merges.push(await this.take(branch, how === 'probed'));
    return { head: this.head, merges };
  }

  private async take(branch: Branch, probed: boolean): Promise<Merge> {
    const { theirs, base } = branch;
    // first, because merge-tree ends with 1 for a missing commit as it does for a conflict
    const [ourTree, theirTree] = [this.trees.get(this.head), this.trees.get(theirs)];
    if (ourTree === undefined || theirTree === undefined)
      return { outcome: 'error', reason: 'A commit of the merge is not in the store.' };
    if (base !== undefined && (theirs === base || this.trees.get(base) === theirTree)) return { outcome: 'no_changes' };
    const merge = await this.merge(theirs);
    if ('outcome' in merge) return merge;
    if (merge.tree === ourTree) return { outcome: 'already_merged' };
    const commit = await this.commit(merge.tree, branch);
    if (probed && !(await this.passes(commit)))
      return { outcome: 'error', reason: 'The merged tree can not be checked out.' };
    this.head = commit;
    return { outcome: 'merged', commit };
  }

  private async merge(theirs: Oid): Promise<Merge | { readonly tree: Oid }> {
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
  async passes(head: Oid): Promise<boolean> {
    const { ours } = this.asked;
    return head === ours || probeTree(this.loop, this.quarantine.folder, ours, this.trees.get(head) ?? head);
  }

  /** Packs what the merges made and nothing else, on disk: what a refused one made stays behind. */
  async pack(head: Oid): Promise<void> {
    const there = [this.asked.ours, ...this.asked.branches.map(({ theirs }) => theirs)];
    const wanted = [head, ...there.filter((oid) => this.trees.has(oid)).map((oid) => `^${oid}`)];
    const durably = ['-c', 'core.fsync=committed'];
    const packed = await this.loop.run(
      [...durably, 'pack-objects', '--revs', '--quiet', '--threads=1', 'objects/pack/pack'],
      `${wanted.join('\n')}\n`,
    );
    if (packed.exitCode !== 0) throw new FarmError('internal', 'The merges could not be packed.');
  }

  close(): Promise<void> {
    return this.loop.end();
  }
}

const strangers = 'The two commits have no history in common.';
