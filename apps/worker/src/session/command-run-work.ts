import { rm } from 'node:fs/promises';
import { FarmError } from '#contracts';
import type { HeldLease } from '../claim/held-lease.js';
import { faultOf } from '../log.js';
import { machineClock } from '../process/monotonic.js';
import { captureDispatch, packOf } from '../workspace/capture.js';
import type { DispatchFolder } from '../workspace/owner-marker.js';
import { OwnerNotes } from '../workspace/owner-notes.js';
import { setAside } from '../workspace/salvage.js';
import type { PreparedCommand } from './command-run-preparation.js';
import type { RunGround } from './job-run.js';
import type { RunNeeds } from './run-needs.js';
import { cutDetail } from './session-end.js';
import { type CommandEnd, isolationReport, lfsNotes, noWork, type Settled, settle, type Work } from './settlement.js';

/**
 * What a command changes: handed back like a Dispatch's where a member asked for the command, else nothing of it is looked at. The
 * workspace goes when the farm has what is in it, or is kept for the member's next Dispatch, or is kept aside.
 */
export class CommandWork {
  private notes: OwnerNotes | undefined;

  constructor(
    private readonly needs: RunNeeds,
    private readonly lease: HeldLease,
    private readonly folder: DispatchFolder,
    private readonly prepared: PreparedCommand,
    private readonly say: RunGround['say'],
  ) {}

  get isKept(): boolean {
    return this.prepared.payload.purpose === 'member';
  }

  /** From here on there may be work in the workspace, that a crash of this worker must not lose. */
  async begin(): Promise<void> {
    if (!this.isKept) return;
    this.notes = new OwnerNotes(this.folder, this.prepared.marker, this.needs.log);
    await this.notes.write({ stage: 'ready' });
  }

  /** Captures, brings up, ends the lease. `lost`: it is not ours to end any more; the farm has the work as a rescue. */
  async handIn(end: CommandEnd): Promise<'done' | 'cancelled' | 'lost'> {
    if (!this.isKept) return this.settled(await settle(this.needs, this.lease, noWork, end));
    let work: Work & { readonly ms: number };
    try {
      work = await this.capture();
    } catch (error) {
      return this.withoutWork(end, error, 'it could not be captured');
    }
    this.lease.phase = 'uploading';
    this.needs.beatSoon();
    try {
      const settled = await settle(this.needs, this.lease, work, this.named(end, work));
      if (settled.how === 'unkept') await setAside(this.needs, this.folder, 'the farm did not keep it');
      else await this.letGo(settled);
      return this.settled(settled);
    } catch (error) {
      // refused for what it is: the end of the command is told all the same
      if (!(error instanceof FarmError)) throw error;
      return this.withoutWork(end, error, error.detail);
    }
  }

  private async capture(): Promise<Work & { readonly ms: number }> {
    const { folder, notes } = this;
    const since = machineClock.now();
    await notes?.write({ captured_at: new Date().toISOString() });
    const marker = notes?.marker ?? this.prepared.marker;
    const capture = await captureDispatch(folder, marker);
    const pack = capture.kind === 'captured' ? await packOf(folder, marker.base, capture) : undefined;
    const facts = capture.kind === 'captured' ? { commit: capture.commit, files: capture.total } : {};
    this.say('captured', { kind: capture.kind, ...facts });
    return { capture, pack, ms: machineClock.now() - since };
  }

  private named({ ended, result }: CommandEnd, { capture, pack, ms }: Work & { readonly ms: number }): CommandEnd {
    const isolation = isolationReport(this.prepared.isolation, ms, pack, lfsNotes(capture));
    return { ended, result: { ...result, isolation, ...(capture.kind === 'captured' && { commit: capture.commit }) } };
  }

  private async withoutWork(end: CommandEnd, error: unknown, why: string): Promise<'done' | 'cancelled' | 'lost'> {
    const { detail } = faultOf(error);
    this.needs.log.error({ fault: faultOf(error) }, 'what a command changed could not be handed back');
    const told = cutDetail(`What it changed could not be handed back and is kept on its machine: ${detail}`);
    const settled = await settle(this.needs, this.lease, noWork, {
      ended: end.ended,
      result: { ...end.result, detail: end.result.detail ?? told },
    });
    await setAside(this.needs, this.folder, why);
    return this.settled(settled);
  }

  /** A cancelled Task has no use for a warm workspace. */
  private async letGo(settled: Settled): Promise<void> {
    await this.notes?.note({ stage: 'settled' });
    await rm(this.folder.pack, { force: true });
    const goesOn = settled.how === 'completed' && settled.state === 'done';
    const kept = await this.needs.workspaces.letGo(
      this.folder,
      goesOn ? this.prepared.payload.assignment_id : undefined,
    );
    if (kept === 'kept') this.say('kept');
  }

  private settled(settled: Settled): 'done' | 'cancelled' | 'lost' {
    if (settled.how === 'completed') return settled.state;
    if (settled.how === 'refused') throw settled.error;
    return 'lost';
  }
}
