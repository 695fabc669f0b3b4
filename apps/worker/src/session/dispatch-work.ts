import type { z } from 'zod';
import type { DispatchResult, FarmError } from '#contracts';
import type { HeldLease } from '../claim/held-lease.js';
import { faultOf, type Log } from '../log.js';
import type { Handover } from '../member-door/member-calls.js';
import { writePrivateFile } from '../private-file.js';
import { machineClock } from '../process/monotonic.js';
import { captureDispatch, packOf } from '../workspace/capture.js';
import { captureNotes } from '../workspace/capture-notes.js';
import type { DispatchFolder } from '../workspace/owner-marker.js';
import type { OwnerNotes } from '../workspace/owner-notes.js';
import { setAside } from '../workspace/salvage.js';
import { assignmentGoesOn } from './assignment-goes-on.js';
import type { EndCause } from './ending.js';
import { failureOf } from './failure-report.js';
import type { RunGround, SlotAfter } from './job-run.js';
import type { OutputRoad } from './output-road.js';
import type { Prepared } from './preparation.js';
import type { RunNeeds } from './run-needs.js';
import { cutDetail, type SessionEnd } from './session-end.js';
import { giveBack, isolationReport, lfsNotes, settle, type Work, withoutHandover } from './settlement.js';
import type { Resumption } from './start-session.js';
import type { UsageSum } from './usage-sum.js';

/** Ends after which there is work to hand in. */
export type HandedEnd = Exclude<SessionEnd, { ended: 'refused' }>;

interface HandIn {
  readonly output: OutputRoad;
  readonly usage: UsageSum;
  readonly sessionRef: string | undefined;
  /** How the session goes on when its handover does not hold (D1). */
  readonly resume: (refused: FarmError) => Resumption | undefined;
  readonly cause: () => EndCause | undefined;
}

type Captured = Work & { readonly ms: number };

/** What a Dispatch has changed, from the handover to the farm's answer. Only then is anything of it deleted. */
export class DispatchWork {
  private readonly log: Log;

  constructor(
    private readonly needs: RunNeeds,
    private readonly lease: HeldLease,
    private readonly folder: DispatchFolder,
    private readonly prepared: Prepared,
    readonly notes: OwnerNotes,
    private readonly say: RunGround['say'],
  ) {
    this.log = needs.log;
  }

  /** Capture, upload, complete; the workspace goes when the farm has what is in it, or is kept aside. */
  async handIn(
    end: HandedEnd,
    { output, usage, sessionRef, resume, cause }: HandIn,
  ): Promise<{ readonly slot: SlotAfter } | Resumption> {
    const { needs, lease, folder, log } = this;
    // while no beat is answered a capture waits (D18)
    await lease.sure();
    this.enter('capturing');
    let work: Captured;
    try {
      work = await this.capture();
    } catch (error) {
      log.error({ fault: faultOf(error) }, 'the workspace could not be captured');
      await giveBack(needs, lease, failureOf(error, 'capture_failed'));
      return this.keepAside('it could not be captured');
    }
    this.enter('uploading');
    await output.flush();
    try {
      const ended = {
        ended: end.ended === 'lost' ? 'crashed' : end.ended,
        result: this.resultOf(end, work, usage, sessionRef),
      } as const;
      let settled = await settle(needs, lease, work, ended);
      if (settled.how === 'refused') {
        const again = resume(settled.error);
        if (again !== undefined) return again;
        settled = await settle(needs, lease, work, withoutHandover(ended, settled.error, cause()));
      }
      if (settled.how === 'unkept') return this.keepAside('another has the job, and the farm did not keep the work');
      if (settled.how === 'rescued') log.info('another has the job; the work is a rescue');
      else if (settled.how === 'refused') throw settled.error;
      else this.say('completed', { ended: end.ended, state: settled.state, kept: settled.kept });
      if (settled.how === 'completed' && !settled.kept && work.capture.kind === 'captured')
        return this.keepAside('the farm did not keep it');
      await this.notes.note({ stage: 'settled' });
      const goesOn = settled.how === 'completed' && settled.state === 'done' && assignmentGoesOn(end);
      const how = await needs.workspaces.letGo(folder, goesOn ? this.prepared.payload.assignment_id : undefined);
      if (how === 'kept') this.say('kept');
    } catch (error) {
      log.error({ fault: faultOf(error) }, 'the work was refused');
      await giveBack(needs, lease, failureOf(error, 'upload_failed'));
      return this.keepAside(faultOf(error).detail);
    }
    return { slot: 'free' };
  }

  private async capture(): Promise<Captured> {
    const { folder, notes: owner, prepared } = this;
    const since = machineClock.now();
    await owner.write({ captured_at: new Date().toISOString() });
    const capture = await captureDispatch(folder, owner.marker);
    const pack = capture.kind === 'captured' ? await packOf(folder, prepared.marker.base, capture) : undefined;
    const notes = await captureNotes(folder, owner.marker, prepared.laidNotes);
    const ms = machineClock.now() - since;
    const facts = capture.kind === 'captured' ? { commit: capture.commit, files: capture.total } : {};
    this.say('captured', { kind: capture.kind, ...facts });
    return { capture, pack, notes, ms };
  }

  private resultOf(
    end: HandedEnd,
    { capture, pack, notes, ms }: Captured,
    usage: UsageSum,
    ref: string | undefined,
  ): z.input<typeof DispatchResult> {
    return {
      ...(end.ended === 'handover' ? { handover: { call_id: end.handover.call_id } } : {}),
      ...(capture.kind === 'captured' ? { commit: capture.commit } : {}),
      ...(capture.kind === 'captured' && capture.ownCommits !== undefined ? { own_commits: capture.ownCommits } : {}),
      ...(notes === undefined ? {} : { notes: notes.commit }),
      ...(ref === undefined ? {} : { session_ref: ref }),
      usage: usage.total,
      isolation: isolationReport(this.prepared.isolation, ms, pack, lfsNotes(capture)),
      ignored: { files: capture.ignored.files, bytes: capture.ignored.bytes },
      ...(end.ended === 'limited' ? { retry_after_ms: end.retryAfterMs } : {}),
      ...('detail' in end ? { detail: cutDetail(end.detail) } : {}),
    };
  }

  private async keepAside(why: string): Promise<{ readonly slot: SlotAfter }> {
    await setAside(this.needs, this.folder, why);
    return { slot: 'free' };
  }

  /** Beside the workspace, and its files into the capture, before the member hears that it was taken. */
  async keepHandover(handover: Omit<Handover, 'reply'>): Promise<void> {
    try {
      await this.notes.write({ include: [...handover.files] });
      await writePrivateFile(this.folder.handover, JSON.stringify(handover));
    } catch (error) {
      // the farm took it and it stands; only a machine that dies now voids it, as it would anyway
      this.log.warn({ fault: faultOf(error) }, 'the handover could not be written down');
    }
    this.say('handover', { operation: handover.operation });
  }

  private enter(phase: 'capturing' | 'uploading'): void {
    this.lease.phase = phase;
    this.needs.beatSoon();
  }
}
