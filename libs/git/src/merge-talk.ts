import type { GitLoop, GitTalk } from './git-loop.js';
import { isOid, type Oid } from './oid.js';

/** What two commits come to. */
export interface MergedTrees {
  readonly tree: Oid;
  /** Where it is no clean merge: files that both have changed, and not alike. None, where they are at odds about something else. */
  readonly conflicts: readonly string[] | undefined;
}

/** One git that merges pair after pair: to start one for each takes longer than what it does. */
export interface MergeTalk {
  /** Of the line as it was at the beginning. */
  readonly tree: Oid;
  /** Nothing where git could not and has ended: whoever asks it alone is told why. Throws as `GitLoop.run`. */
  merge(ours: Oid, theirs: Oid): Promise<MergedTrees | undefined>;
  /** Throws as `GitLoop.run`. */
  close(): Promise<void>;
}

/** A git that holds back what it prints answers when it ends, and then only. */
const patienceMs = 5_000;
/** Not known at the beginning; as git is the same for the whole life of a process, once is enough. */
let answersAtOnce = true;

/** Nothing where git can not be talked to: it is too old, or there is no `stdbuf` and it is older than 2.49; or `ours` is not there. */
export async function openMergeTalk(loop: GitLoop, ours: Oid): Promise<MergeTalk | undefined> {
  if (!answersAtOnce) return undefined;
  const talk = loop.talkTo(['merge-tree', '--stdin', '-z', '--name-only', '--no-messages']);
  const late = setTimeout(() => {
    answersAtOnce = false;
    talk.hangUp();
  }, patienceMs);
  const first = await mergeBy(talk, ours, ours).finally(() => clearTimeout(late));
  if (first !== undefined && answersAtOnce)
    return { tree: first.tree, merge: (one, other) => mergeBy(talk, one, other), close: () => talk.close() };
  await talk.close();
  return undefined;
}

async function mergeBy(talk: GitTalk, ours: Oid, theirs: Oid): Promise<MergedTrees | undefined> {
  const said = await talk.ask(`${ours} ${theirs}\n`, (heard) => read(heard) !== undefined);
  return said && read(said);
}

/** 1 for a clean merge, the tree, the files, each with a NUL behind it, and one more. */
function read(said: Buffer): MergedTrees | undefined {
  const [how, tree = '', ...rest] = said.toString().split('\0');
  const isWhole = rest.at(-1) === '' && rest.at(-2) === '';
  if (!isWhole || !isOid(tree)) return undefined;
  if (how === '1') return { tree, conflicts: undefined };
  return how === '0' ? { tree, conflicts: [...new Set(rest.slice(0, -2))] } : undefined;
}
