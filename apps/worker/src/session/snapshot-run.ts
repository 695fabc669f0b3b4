import { mkdir, rm } from 'node:fs/promises';
import { FarmError, type LeasedJob, SnapshotPayload } from '#contracts';
import type { HeldLease } from '../claim/held-lease.js';
import { faultOf } from '../log.js';
import type { Instant } from '../process/monotonic.js';
import { captureDispatch, packOf } from '../workspace/capture.js';
import { requireRoom } from '../workspace/disk-room.js';
import { writeMarker } from '../workspace/owner-marker.js';
import { removeFolder } from '../workspace/remove-folder.js';
import { Ending } from './ending.js';
import { failureOf } from './failure-report.js';
import { type JobRun, openRun, type RunGround, type SlotAfter } from './job-run.js';
import { layOut, markerOf } from './preparation.js';
import { giveBack, settle, type Work } from './settlement.js';

/**
 * Brings a folder of this machine to the farm as it is, before anybody works in it (H27): judged, read and captured like the work of
 * a Dispatch, by git of ours and without a word in the folder.
 */
export class SnapshotRun implements JobRun {
  readonly lease: HeldLease;
  private readonly ending = new Ending();
  private readonly ground: RunGround;

  constructor(
    private readonly leased: LeasedJob,
    sentAt: Instant,
    needs: RunGround['needs'],
  ) {
    this.ground = openRun(leased, sentAt, needs, this.ending);
    this.lease = this.ground.lease;
    this.lease.on('end', ({ kind }) => {
      if (kind === 'cancel') this.ending.end('cancelled');
    });
    this.lease.on('stale', () => this.lease.lose());
  }

  drain(): void {
    this.ending.end('drained');
  }

  async run(): Promise<SlotAfter> {
    const { needs, log, lease, folder } = this.ground;
    try {
      needs.beatSoon();
      if ((await lease.sure()) !== 'lost') await this.bring();
    } catch (error) {
      log.warn({ fault: faultOf(error) }, 'a folder could not be brought to the farm');
      if (this.ending.cause !== 'lost') await giveBack(needs, lease, failureOf(error, 'prepare_failed'));
    } finally {
      await removeFolder(folder.path);
    }
    return 'free';
  }

  private async bring(): Promise<void> {
    const { needs, lease, folder, say } = this.ground;
    const { signal } = this.ending;
    const payload = this.payload();
    await requireRoom(needs.home.path, needs.diskFloorBytes);
    await rm(folder.path, { recursive: true, force: true });
    await mkdir(folder.path, { recursive: true, mode: 0o700 });
    const given = { ...payload, member_id: 'workspace', isolation: { required: [] } };
    // it stays at `preparing`: nobody has worked in it, and a crash has nothing to save
    const marker = markerOf(needs, lease, given);
    await writeMarker(folder, marker);
    await layOut(needs, lease, folder, given, signal);
    const capture = await captureDispatch(folder, marker);
    const pack = capture.kind === 'captured' ? await packOf(folder, marker.base, capture) : undefined;
    signal.throwIfAborted();
    const work: Work = { capture, pack };
    const result = capture.kind === 'captured' ? { commit: capture.commit } : {};
    const settled = await settle(needs, lease, work, { ended: 'done', result });
    if (settled.how === 'completed') say('completed', { ended: 'done', state: settled.state });
  }

  private payload(): SnapshotPayload {
    const read = SnapshotPayload.safeParse(this.leased.payload);
    if (read.success) return read.data;
    throw new FarmError('invalid_input', 'The payload of the snapshot has another shape than this worker knows.', {
      hint: 'Bring controller and worker to the same version.',
    });
  }
}
