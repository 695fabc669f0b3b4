import type { z } from 'zod';
import {
  type CommandEnded,
  type CommandRunResult,
  type DispatchEnded,
  type DispatchResult,
  FarmError,
  type IsolationReport,
  jobComplete,
  jobFail,
  type SnapshotResult,
} from '#contracts';
import type { Capture, WrittenFile } from '#git';
import type { HeldLease } from '../claim/held-lease.js';
import { untilAnswered } from '../controller/until-answered.js';
import type { CapturedNotes } from '../workspace/capture-notes.js';
import { type PackTaken, sendPack } from '../workspace/pack-road.js';
import type { EndCause } from './ending.js';
import type { FailureReport } from './failure-report.js';
import type { RunNeeds } from './run-needs.js';
import { cutDetail } from './session-end.js';

export interface Work {
  readonly capture: Capture;
  readonly pack: WrittenFile | undefined;
  /** Go up beside the work, and count only with it. */
  readonly notes?: CapturedNotes | undefined;
}

export interface Ended {
  readonly ended: z.output<typeof DispatchEnded>;
  readonly result: z.input<typeof DispatchResult>;
}

/** The same of a Command Run. */
export interface CommandEnd {
  readonly ended: z.output<typeof CommandEnded>;
  readonly result: z.input<typeof CommandRunResult>;
}

/** The same of a folder that was brought as it is. */
interface SnapshotEnd {
  readonly ended: 'done';
  readonly result: z.input<typeof SnapshotResult>;
}

/** Where nothing ran, or nothing of it is handed back. */
export const noWork: Work = {
  capture: {
    kind: 'no_changes',
    nested: [],
    ignored: { files: 0, bytes: 0, more: false },
    skipped: [],
    notCaptured: [],
    lfsChanged: [],
  },
  pack: undefined,
};

type End = Ended | CommandEnd | SnapshotEnd;

export type Settled =
  | { readonly how: 'completed'; readonly state: 'done' | 'cancelled'; readonly kept: boolean }
  /** The lease is somebody else's; the farm has the work as a rescue (D20). */
  | { readonly how: 'rescued' }
  /** The same, but the farm has not. */
  | { readonly how: 'unkept' }
  /** Nothing was changed: the handover does not hold (D1). */
  | { readonly how: 'refused'; readonly error: FarmError };

/** Long: the farm unpacks, checks and applies before it answers. */
const completeTimeoutMs = 120_000;

/**
 * Brings the work up and ends the lease, until the farm has answered. A lease that went stale may be given back: then all of it
 * is done again at the next epoch (D11); else what is up is the rescue.
 *
 * @throws FarmError `commit_refused` and other refusals of the farm
 */
export async function settle(needs: RunNeeds, lease: HeldLease, work: Work, end: End): Promise<Settled> {
  for (let refusals = 0; refusals < refusalsMost; ) {
    const lost = (await lease.sure()) === 'lost';
    const { fence } = lease;
    const taken = await upload(needs, lease, work);
    if (lost) return { how: taken === 'stale' ? 'unkept' : 'rescued' };
    if (taken !== 'accepted' || (await uploadNotes(needs, lease, work)) !== 'accepted') {
      refusals += 1;
      lease.question(fence);
      continue;
    }
    try {
      return { how: 'completed', ...(await complete(needs, lease, end)) };
    } catch (error) {
      if (!(error instanceof FarmError)) throw error;
      if (error.code === 'stale_lease') {
        refusals += 1;
        lease.question(fence);
      } else if (error.code === 'handover_refused' && end.ended === 'handover') return { how: 'refused', error };
      else throw error;
    }
  }
  throw new FarmError('stale_lease', 'The farm renews the lease and refuses its work.');
}

/** Beats and calls that contradict each other so often are a fault of the farm. */
const refusalsMost = 10;

/** Nothing to take counts as taken. */
async function upload({ farm, line }: RunNeeds, lease: HeldLease, { capture, pack }: Work): Promise<PackTaken> {
  if (capture.kind === 'no_changes' || pack === undefined) return 'accepted';
  const { job, epoch } = lease;
  const taken = await sendPack(farm, { job, epoch, commit: capture.commit, pack, jobToken: () => lease.token });
  if (taken !== 'stale')
    line(taken === 'accepted' ? 'uploaded' : 'rescued', { job, epoch, commit: capture.commit, bytes: pack.bytes });
  return taken;
}

async function uploadNotes({ farm }: RunNeeds, lease: HeldLease, { notes }: Work): Promise<PackTaken> {
  if (notes === undefined) return 'accepted';
  const { job, epoch } = lease;
  return sendPack(farm, { job, epoch, ...notes, jobToken: () => lease.token });
}

/** The same body again until it is answered: the first wins and the same gets the same answer (D13). */
async function complete(
  { farm }: RunNeeds,
  lease: HeldLease,
  { ended, result }: End,
): Promise<{ state: 'done' | 'cancelled'; kept: boolean }> {
  const body = { ...lease.fence, ended, result };
  lease.settling = true;
  try {
    const answer = await untilAnswered(() =>
      farm.call(jobComplete, body, { jobToken: lease.token, timeoutMs: completeTimeoutMs }),
    );
    lease.close();
    return answer;
  } finally {
    lease.settling = false;
  }
}

/** D1: the end of a session that can not be asked again; `cause`: somebody wanted it. */
export function withoutHandover(
  { result: { handover: _, ...result } }: Ended,
  error: FarmError,
  cause: EndCause | undefined,
): Ended {
  const ended = cause === undefined || cause === 'lost' ? 'silent' : cause;
  return { ended, result: { ...result, detail: cutDetail(`The handover was refused: ${error.detail}`) } };
}

/** Gives the lease back; one that is stale by now needs no word. */
export async function giveBack({ farm, log, line }: RunNeeds, lease: HeldLease, failure: FailureReport): Promise<void> {
  if ((await lease.sure()) === 'lost') return;
  lease.settling = true;
  try {
    const { state } = await untilAnswered(() =>
      farm.call(jobFail, { ...lease.fence, ...failure }, { jobToken: lease.token, timeoutMs: completeTimeoutMs }),
    );
    lease.close();
    line('failed', { job: lease.job, epoch: lease.epoch, reason: failure.reason, state });
  } catch (error) {
    if (!(error instanceof FarmError)) throw error;
    log.warn({ code: error.code }, 'the lease could not be given back');
  } finally {
    lease.settling = false;
  }
}

/** A pointer to what no server holds would be worth nothing: what was changed is in the commit itself. */
export function lfsNotes({ lfsChanged }: Pick<Capture, 'lfsChanged'>): readonly string[] {
  if (lfsChanged.length === 0) return [];
  const some = lfsChanged.slice(0, 10).map((path) => path.slice(0, 256));
  return [`git-lfs: changed files are in the commit whole, and not as pointers: ${some.join(', ')}`];
}

export function isolationReport(
  isolation: Omit<z.output<typeof IsolationReport>, 'capture_ms' | 'bytes'>,
  captureMs: number,
  pack: WrittenFile | undefined,
  notes: readonly string[] = [],
): z.output<typeof IsolationReport> {
  return {
    ...isolation,
    reasons: [...isolation.reasons, ...notes],
    capture_ms: Math.round(captureMs),
    bytes: pack?.bytes ?? 0,
  };
}
