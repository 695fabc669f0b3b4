import { type ChildMerge, limits } from '#contracts';
import type { Merge } from '#git';
import { type Queries, sentTogether, type Transaction } from '#store';
import { openDispatch } from '../dispatch/open-dispatch.js';
import { isInPlace } from '../in-place/in-place.js';
import type { TeamParts } from '../parts.js';
import type { AssignmentRow, ChildReport } from '../rows.js';
import { assignmentSql, taskSql } from '../sql/teams.js';
import { type SettledChild, type WaveRow, waveSql } from '../sql/wave.js';
import { record } from '../task/events.js';
import { lockTask } from '../task/lock-task.js';
import { branchOfChild } from './branch-of-child.js';
import { greenOf, type WaveMerges } from './wave-merges.js';

/** Waves that one look joins at most. */
const batch = 20;

/**
 * Joins every Wave whose children have all reported: any controller, at any time, also twice at once (D21). Answers the Tasks that
 * went on.
 */
export async function joinWaves(parts: TeamParts, merges: WaveMerges): Promise<readonly string[]> {
  const joined: string[] = [];
  const waves = [...(await parts.database.all(waveSql.joinable, { limit: batch }))];
  const lane = async (): Promise<void> => {
    for (let wave = waves.shift(); wave !== undefined; wave = waves.shift()) {
      const task = await joinOrTell(parts, merges, wave.id);
      if (task !== undefined) joined.push(task);
    }
  };
  await Promise.all(Array.from({ length: limits.joiningAtOnce }, lane));
  return joined;
}

async function joinOrTell(parts: TeamParts, merges: WaveMerges, id: string): Promise<string | undefined> {
  try {
    return await joinWave(parts, merges, id);
  } catch (error) {
    if (!parts.onTrouble) throw error;
    parts.onTrouble(error, id);
    return undefined;
  }
}

/** Answers its Task; nothing where another is at it, or there is nothing to join (yet). */
async function joinWave(parts: TeamParts, merges: WaveMerges, id: string): Promise<string | undefined> {
  return parts.database.session(async (session) => {
    // One connection runs them in this order: what is read is read under the lock.
    const [lock, found] = await sentTogether([session.first(waveSql.tryJoin, { wave: id }), readJoin(session, id)]);
    if (lock?.mine !== true || found === undefined) return undefined;
    try {
      const merged = await mergeChildren(merges, found);
      return (await applyJoin(parts, found, merged)) ? found.wave.task : undefined;
    } finally {
      await merges.clear();
    }
  });
}

interface Join {
  /** Its members have worked one after another in one folder. */
  readonly inPlace: boolean;
  readonly wave: WaveRow;
  readonly assignment: AssignmentRow;
  readonly children: readonly SettledChild[];
}

/** Sends its first statements at once. */
async function readJoin(session: Queries, id: string): Promise<Join | undefined> {
  const [wave, { pending } = { pending: 1 }] = await Promise.all([
    session.first(waveSql.read, { id }),
    session.first(waveSql.pending, { wave: id }),
  ]);
  if (wave?.status !== 'open' || pending > 0) return undefined;
  const [assignment, task, children] = await Promise.all([
    session.first(assignmentSql.read, { id: wave.assignment }),
    session.first(taskSql.read, { task: wave.task }),
    session.all(waveSql.children, { wave: id }),
  ]);
  if (!assignment || assignment.closed_at !== null) return undefined;
  return { inPlace: task !== undefined && isInPlace(task), wave, assignment, children };
}

interface Merged {
  readonly head: string;
  /** One for each child, in their order. */
  readonly merges: readonly ChildMerge[];
}

const foundInPlace = ({ line_head, line_base }: SettledChild): ChildMerge => ({
  outcome: line_head === line_base ? 'no_changes' : 'already_merged',
});

/** Git, outside any transaction. The same rows give the same commits, so it may be killed and begun again (H6). */
async function mergeChildren(waveMerges: WaveMerges, { inPlace, wave, assignment, children }: Join): Promise<Merged> {
  // What they did is in the folder, blocked or not; the parent's own capture takes it up.
  if (inPlace) return { head: assignment.line_head, merges: children.map(foundInPlace) };
  const green = greenOf(children);
  const { head, merges } = await waveMerges.merge({
    wave: wave.id,
    task: wave.task,
    ours: assignment.line_head,
    green,
  });
  const merged = new Map(green.map((child, n) => [child, merges[n]]));
  return { head, merges: children.map((child) => tellMerge(wave, child, merged.get(child))) };
}

function tellMerge(wave: WaveRow, child: SettledChild, merge: Merge | undefined): ChildMerge {
  const branch = branchOfChild(child.member, wave.id);
  const changed = child.line_head !== child.line_base;
  if (merge === undefined) return { outcome: 'skipped', ...(changed && { branch }) };
  if (merge.outcome === 'conflict') return { ...merge, files: merge.files.slice(0, limits.filesChanged), branch };
  if (merge.outcome === 'error') return { ...merge, branch };
  return merge;
}

/** Line, Wave and successor in one transaction. False: the Task does not run, or another was faster; a sweep comes back to it. */
function applyJoin(parts: TeamParts, join: Join, { head, merges }: Merged): Promise<boolean> {
  const { wave, assignment, children } = join;
  return parts.database.transaction(async (tx) => {
    const [task, settled] = await sentTogether([lockTask(tx, wave.task), tx.first(waveSql.settle, { id: wave.id })]);
    if (!settled) return false;
    const members = children.map((child, n) => reportOf(child, merges[n]));
    const moved = head === assignment.line_head ? undefined : moveLine(tx, assignment, head);
    tx.later(waveSql.noteMerges, {
      wave: wave.id,
      positions: children.map(({ position }) => position),
      merges: merges.map((merge) => JSON.stringify(merge)),
      commits: children.map(({ line_base, line_head }) => (line_head === line_base ? null : line_head)),
    });
    record(parts, tx, {
      task: task.id,
      type: 'wave_settled',
      source: 'controller',
      payload: {
        wave: wave.id,
        member: assignment.member,
        commit: head,
        members: children.map(({ member, outcome }, n) => ({ member, outcome, merge: merges[n] })),
      },
    });
    const opened = openDispatch(parts, tx, task, { ...assignment, line_head: head }, openingOf(wave, members));
    await sentTogether([moved, opened]);
    return true;
  });
}

function openingOf({ id, source_dispatch }: WaveRow, members: readonly ChildReport[]) {
  return {
    reason: 'delegation_wave',
    causedBy: id,
    continuation: { kind: 'delegation_wave_settled', wave: id, source_dispatch, members },
  } as const;
}

/** from: the line stands where the merge began; nobody else moves it while its member waits (H6). */
async function moveLine(tx: Transaction, { id, line_head }: AssignmentRow, to: string): Promise<void> {
  if ((await tx.run(assignmentSql.moveLine, { id, from: line_head, to })) !== 1)
    throw new Error('the line of a waiting member has moved');
}

function reportOf(child: SettledChild, merge: ChildMerge | undefined): ChildReport {
  if (!merge) throw new Error('a child without its merge');
  const { summary, details, files } = child;
  return {
    child_id: child.member,
    assignment: { id: child.assignment, prompt: child.prompt, files: child.asked_files },
    outcome: child.outcome,
    checkpoint: { summary, ...(details === null ? {} : { details }), files },
    merge,
  };
}
