import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { FarmError } from '#contracts';
import type { GitLimits } from './git-limits.js';
import { type GitLoop, type LoopAnswer, type LoopCommand, openGitLoop } from './git-loop.js';
import { writeLooseCommit } from './loose-commit.js';
import { type MergedTrees, type MergeTalk, openMergeTalk } from './merge-talk.js';
import { isOid, type Oid, requireOid } from './oid.js';
import { hasPassed, TreeProbe } from './probe-tree.js';
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
  /** Where the line would stand now; it comes to stand elsewhere where `finish` finds that this can not be checked out. */
  readonly head: Oid;
  /** Starts what takes long to start. Throws as `mergeInto`; then it is of no more use. */
  warm(): Promise<void>;
  /** Merges more, in their order, after those that it has. Throws as `warm`. */
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
  head: Oid;
  private opened: GitLoop | undefined;
  private probe: TreeProbe | undefined;
  private talk: MergeTalk | undefined;
  /** Commits that are there; of some their trees are known. */
  private readonly there = new Set<Oid>();
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

  async warm(): Promise<void> {
    if (this.probe !== undefined) return;
    const { ours } = this.into;
    this.probe = new TreeProbe(this.loop, this.quarantine.folder, ours);
    await this.probe.warm();
    this.talk = await openMergeTalk(this.loop, ours);
    if (this.talk) this.know(ours, this.talk.tree);
  }

  async take(branches: readonly Branch[]): Promise<void> {
    for (const { theirs, base } of branches.filter(hasMoved)) [theirs, base ?? theirs].map(requireOid);
    this.branches.push(...branches);
    for (const branch of branches) this.merges.push(await this.merge(branch, 'unprobed'));
  }

  async finish(): Promise<MergedLine> {
    // Its end is the first of the answers that follow, and awaited with them.
    const ended = this.stopTalking();
    ended.catch(() => undefined);
    // The last tree holds all of them and says the same of each: only where it can not be checked out, each is probed.
    if (this.head !== this.into.ours && !(await this.probeAndPack())) await this.takeAllAnew();
    await ended;
    if (this.head !== this.into.ours) await this.admit();
    return { head: this.head, merges: this.merges };
  }

  async close(): Promise<void> {
    try {
      await this.opened?.end();
    } finally {
      // where there was no loop, or one that was ended by force
      await this.quarantine.remove();
    }
  }

  /** No other git runs before that. */
  private async stopTalking(): Promise<void> {
    const { talk } = this;
    this.talk = undefined;
    await talk?.close();
  }

  private know(commit: Oid, tree: Oid): void {
    this.there.add(commit);
    this.trees.set(commit, tree);
  }

  /** Which commits are there, and their trees. */
  private async look(commits: readonly Oid[]): Promise<void> {
    const unknown = [...new Set(commits)].filter((oid) => !this.trees.has(oid));
    const input = unknown.map((oid) => `${oid}^{tree}\n`).join('');
    const answer = await this.loop.run({ args: ['cat-file', '--batch-check=%(objectname)'], input });
    const said = answer.stdout.toString().split('\n');
    for (const [n, oid] of unknown.entries()) {
      const tree = said[n] ?? '';
      if (isOid(tree)) this.know(oid, tree);
    }
  }

  /** From where the line stood; nothing is taken that could not be checked out. */
  private async takeAllAnew(): Promise<void> {
    const packs = join(this.quarantine.folder, 'objects', 'pack');
    await rm(packs, { recursive: true });
    await mkdir(packs);
    this.head = this.into.ours;
    this.merges = [];
    for (const branch of this.branches) this.merges.push(await this.merge(branch, 'probed'));
    if (this.head !== this.into.ours) checkPacked(await this.loop.run(this.packing()));
  }

  private async merge(branch: Branch, how: 'probed' | 'unprobed'): Promise<Merge> {
    const { theirs } = branch;
    if (!hasMoved(branch)) return { outcome: 'no_changes' };
    const merge = (await this.mergeByTalk(theirs)) ?? (await this.mergeAlone(theirs));
    if ('outcome' in merge) return merge;
    this.there.add(theirs);
    if (merge.conflicts !== undefined) return { outcome: 'conflict', files: merge.conflicts };
    if (merge.tree === this.trees.get(this.head)) return await this.bringsNothing(branch);
    const commit = await this.commit(merge.tree, branch);
    if (how === 'probed' && !(await this.passes(commit)))
      return { outcome: 'error', reason: 'The merged tree can not be checked out.' };
    this.head = commit;
    return { outcome: 'merged', commit };
  }

  private async mergeByTalk(theirs: Oid): Promise<MergedTrees | undefined> {
    await this.warm();
    const merge = await this.talk?.merge(this.head, theirs);
    if (merge === undefined) await this.stopTalking();
    return merge;
  }

  private async mergeAlone(theirs: Oid): Promise<Merge | MergedTrees> {
    // first, because merge-tree ends with 1 for a missing commit as it does for a conflict
    await this.look([this.head, theirs]);
    if (!this.there.has(this.head) || !this.there.has(theirs))
      return { outcome: 'error', reason: 'A commit of the merge is not in the store.' };
    const args = ['merge-tree', '--write-tree', '-z', '--name-only', '--no-messages', this.head, theirs];
    const { exitCode, stdout } = await this.loop.run({ args });
    const [tree = '', ...files] = stdout.toString().split('\0');
    if (exitCode === 1) return { outcome: 'conflict', files: [...new Set(files.filter((file) => file !== ''))] };
    if (exitCode === 0 && isOid(tree)) return { tree, conflicts: undefined };
    const related = await this.loop.run({ args: ['merge-base', this.head, theirs] });
    return { outcome: 'error', reason: related.exitCode === 1 ? strangers : 'git could not merge the two commits.' };
  }

  /** It ends with the tree that it began with, or with what is in the line already. */
  private async bringsNothing({ theirs, base }: Branch): Promise<Merge> {
    if (base === undefined) return { outcome: 'already_merged' };
    await this.stopTalking();
    await this.look([theirs, base]);
    return { outcome: this.trees.get(theirs) === this.trees.get(base) ? 'no_changes' : 'already_merged' };
  }

  private async commit(tree: Oid, { theirs, message, author, when }: Branch): Promise<Oid> {
    const text = commitText({ tree, parents: [this.head, theirs], message, author, when });
    const commit = await writeLooseCommit(join(this.quarantine.folder, 'objects'), text);
    this.know(commit, tree);
    return commit;
  }

  /** Whether the tree of a merge could be checked out. */
  private async passes(commit: Oid): Promise<boolean> {
    return hasPassed(await this.loop.run(await this.probing(commit)));
  }

  /** At once: what was packed in vain is thrown away by who merges anew. */
  private async probeAndPack(): Promise<boolean> {
    const [probed, packed] = await this.loop.runBoth(await this.probing(this.head), this.packing());
    if (!hasPassed(probed)) return false;
    checkPacked(packed);
    return true;
  }

  private async probing(commit: Oid): Promise<LoopCommand> {
    const tree = this.trees.get(commit);
    if (tree === undefined || this.probe === undefined) throw new TypeError('only a merge is probed');
    return await this.probe.command(tree);
  }

  /** Packs what the merges made and nothing else: what a refused one made stays behind. */
  private packing(): LoopCommand {
    const there = [this.into.ours, ...this.branches.map(({ theirs }) => theirs)];
    const wanted = [this.head, ...there.filter((oid) => this.there.has(oid)).map((oid) => `^${oid}`)];
    const args = ['pack-objects', '--revs', '--quiet', '--threads=1', 'objects/pack/pack'];
    return { args, input: `${wanted.join('\n')}\n` };
  }

  /** git would put one file after the other on disk. */
  private async admit(): Promise<void> {
    await this.quarantine.makeLasting();
    await this.quarantine.admit();
  }
}

function checkPacked({ exitCode }: LoopAnswer): void {
  if (exitCode !== 0) throw new FarmError('internal', 'The merges could not be packed.');
}

function hasMoved({ theirs, base }: Branch): boolean {
  return theirs !== base;
}

const strangers = 'The two commits have no history in common.';
