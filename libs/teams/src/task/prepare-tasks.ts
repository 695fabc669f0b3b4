import { FarmError, limits } from '#contracts';
import { emptyBase, importBundle } from '#git';
import { askForSnapshot } from '../in-place/ask-for-snapshot.js';
import type { TeamParts } from '../parts.js';
import type { TaskRow } from '../rows.js';
import { soonest } from '../soonest.js';
import { pointedNotes } from '../source/check-repository.js';
import { tellWrongFiles, wrongFiles } from '../source/require-files.js';
import { type TakenSource, takeRepository } from '../source/take-repository.js';
import { taskSql } from '../sql/teams.js';
import { lockTask } from './lock-task.js';
import { openTeam } from './open-team.js';
import { pauseTask } from './pause-task.js';
import { sourceName, storeOf } from './task-store.js';
import { whilePreparing } from './while-preparing.js';

/**
 * Carries on Tasks whose source is not ready: any controller, one at a time per Task, from wherever the last one died (D19). A few
 * at once, and no look waits longer than it is told: a slow source holds up nobody else's.
 */
export class TaskPreparation {
  private readonly underWay = new Map<string, { readonly work: Promise<void>; readonly remote: boolean }>();
  private readonly closing = new AbortController();
  private moved: string[] = [];
  private troubles: unknown[] = [];

  constructor(private readonly parts: TeamParts) {}

  /**
   * Begins what there is room for and waits for it, `atMostMs` at most; what takes longer goes on. Answers the Tasks that have moved
   * since the last look.
   *
   * @throws AggregateError what went wrong with single Tasks, when nobody listens to troubles; the next look tries them again
   */
  async look(atMostMs: number): Promise<readonly string[]> {
    const begun = [...(await this.beginThose(false)), ...(await this.beginThose(true))];
    await soonest(Promise.all(begun), atMostMs);
    const [moved, troubles] = [this.moved, this.troubles];
    [this.moved, this.troubles] = [[], []];
    if (troubles.length > 0) throw new AggregateError(troubles, 'Some Tasks could not be prepared.');
    return moved;
  }

  /** Breaks off what waits for an origin: another controller, or the next start, goes on with it. */
  async close(): Promise<void> {
    this.closing.abort();
    await Promise.all([...this.underWay.values()].map(({ work }) => work));
  }

  /** What waits for an origin has room of its own, so that it holds up nobody who needs no network. */
  private async beginThose(remote: boolean): Promise<readonly Promise<void>[]> {
    if (this.closing.signal.aborted) return [];
    const mine = [...this.underWay.values()].filter((each) => each.remote === remote).length;
    const room = (remote ? limits.fetchingAtOnce : limits.preparingAtOnce) - mine;
    const busy = [...this.underWay.keys()];
    const found = room > 0 ? await this.parts.database.all(taskSql.preparing, { limit: room, busy, remote }) : [];
    return found.map(({ id }) => {
      const work = this.prepare(id).finally(() => this.underWay.delete(id));
      this.underWay.set(id, { work, remote });
      return work;
    });
  }

  private async prepare(id: string): Promise<void> {
    try {
      if (await prepareTask(this.parts, id, this.closing.signal)) this.moved.push(id);
    } catch (error) {
      if (this.parts.onTrouble) this.parts.onTrouble(error, id);
      else this.troubles.push(error);
    }
  }
}

/** False: another controller is at it, or there is nothing left to do. */
function prepareTask(parts: TeamParts, id: string, closing: AbortSignal): Promise<boolean> {
  return parts.database.session(async (session) => {
    const lock = await session.first(taskSql.tryPreparing, { task: id });
    if (lock?.mine !== true) return false;
    const task = await session.first(taskSql.read, { task: id });
    if (task?.status !== 'preparing') return false;
    if (task.source.kind === 'in_place') return askForSnapshot(parts, id);
    const source = await whilePreparing(parts, id, closing, (signal) => takeSource(parts, task, signal));
    if (source === undefined) return false;
    return 'base' in source ? begin(parts, id, source) : giveUp(parts, id, source.refused);
  });
}

type Source = { readonly base: string; readonly taken?: TakenSource } | { readonly refused: FarmError };

/**
 * Git, disk and network, outside any transaction, safe to repeat. Undefined: not now, another fetch from the same origin is under
 * way. A fault of the farm is thrown: the next sweep tries again.
 */
async function takeSource(parts: TeamParts, task: TaskRow, signal: AbortSignal): Promise<Source | undefined> {
  const source = await takeIn(parts, task, signal);
  if (source === undefined || 'refused' in source) return source;
  const wrong = await wrongFiles(await storeOf(parts, task.id), source.base, task.settings.files);
  if (wrong.length === 0) return source;
  const hint = 'Put them there and resume the Task, or cancel it and start it again with other files.';
  return { refused: new FarmError('source_unavailable', tellWrongFiles(wrong), { hint }) };
}

async function takeIn(parts: TeamParts, task: TaskRow, signal: AbortSignal): Promise<Source | undefined> {
  try {
    const store = await storeOf(parts, task.id);
    if (task.source.kind === 'empty') return { base: await emptyBase(store) };
    if (task.source.kind === 'repository') {
      const taken = await takeRepository(parts, { task: task.id, store, source: task.source }, signal);
      return taken && { base: taken.base, taken };
    }
    if (task.source.kind === 'in_place') return undefined;
    const name = sourceName(task.started_by, task.source.sha256);
    if ((await parts.objects.size(name)) === undefined)
      throw unavailable('The uploaded checkout is not there any more.');
    const { head } = await importBundle(store, parts.objects.path(name), { limits: parts.gitLimits ?? {} });
    if (head !== task.source.commit)
      throw unavailable('The uploaded checkout holds another commit than the Task names.');
    return { base: head };
  } catch (error) {
    if (error instanceof FarmError && lasting.has(error.code)) return { refused: error };
    throw error;
  }
}

const lasting = new Set(['source_refused', 'source_unavailable', 'disk_full', 'timeout', 'too_large', 'misconfigured']);
const unavailable = (detail: string): FarmError => new FarmError('source_unavailable', detail);

/** Base, team, root Assignment, root Dispatch and job in one transaction (I25). */
function begin(parts: TeamParts, id: string, { base, taken }: { base: string; taken?: TakenSource }): Promise<boolean> {
  return parts.database.transaction(async (tx) => {
    const task = await lockTask(tx, id);
    // A cancel may have come while git worked.
    if (task.status !== 'preparing') return false;
    await openTeam(parts, tx, task, base, taken && factsOf(taken));
    return true;
  });
}

/** What the record says of the source: where it was, and what the commit only points to. */
function factsOf({ ref, report, lfs: contents, submodules: fetched }: TakenSource): Readonly<Record<string, unknown>> {
  const { lfs, submodules } = report;
  return {
    ref,
    notes: pointedNotes(report, { lfs: contents !== undefined, submodules: fetched.length > 0 }),
    ...(lfs.files > 0 && { lfs: { files: lfs.files, bytes: lfs.bytes, fetched: contents !== undefined } }),
    ...(submodules.length > 0 && {
      submodules: (fetched.length > 0 ? fetched : submodules).map(({ path, commit }) => ({ path, commit })),
    }),
  };
}

function giveUp(parts: TeamParts, id: string, why: FarmError): Promise<boolean> {
  return parts.database.transaction(async (tx) => {
    const task = await lockTask(tx, id);
    if (task.status !== 'preparing') return false;
    await pauseTask(parts, tx, task, {
      reason: 'source_unavailable',
      detail: why.hint === undefined ? why.detail : `${why.detail} ${why.hint}`,
      attention: 'source_unavailable',
    });
    return true;
  });
}
