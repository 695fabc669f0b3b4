import type { LeasedJob } from '#contracts';
import { HeldLease } from '../claim/held-lease.js';
import type { Log } from '../log.js';
import type { Instant } from '../process/monotonic.js';
import type { DispatchFolder } from '../workspace/owner-marker.js';
import type { Ending } from './ending.js';
import { folderOf } from './preparation.js';
import type { RunNeeds } from './run-needs.js';

/** How a run left its slot: `held` when processes of it could not be ended (the slot is not used again). */
export type SlotAfter = 'free' | 'held';

/** One job on this machine, from the claim to the farm's answer. */
export interface JobRun {
  readonly lease: HeldLease;
  /** The worker stops. */
  drain(): void;
  /** Never throws: what went wrong was told to the farm or is in the log. */
  run(): Promise<SlotAfter>;
}

/** What every run stands on. */
export interface RunGround {
  readonly lease: HeldLease;
  /** Names job and epoch on each line. */
  readonly log: Log;
  readonly needs: RunNeeds;
  readonly folder: DispatchFolder;
  /** An event line of this job. */
  readonly say: (event: Parameters<RunNeeds['line']>[0], facts?: Readonly<Record<string, unknown>>) => void;
}

/** A lease that is lost ends its run; one that is questioned is beaten at once. */
export function openRun(leased: LeasedJob, sentAt: Instant, given: RunNeeds, ending: Ending): RunGround {
  const lease = new HeldLease(leased, sentAt);
  const log = given.log.child({ job: leased.id, epoch: leased.epoch });
  const needs = { ...given, log };
  const say: RunGround['say'] = (event, facts = {}) =>
    needs.line(event, { job: lease.job, epoch: lease.epoch, ...facts });
  lease.on('lost', () => {
    say('lost');
    ending.end('lost');
  });
  lease.on('questioned', () => needs.beatSoon());
  return { lease, log, needs, folder: folderOf(needs, lease, leased.payload), say };
}
