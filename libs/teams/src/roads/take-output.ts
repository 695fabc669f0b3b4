import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { FarmError, limits } from '#contracts';
import { outputSegment } from '../command-run/output-segments.js';
import type { TeamParts } from '../parts.js';
import { outputSql } from '../sql/output.js';
import { requireLive } from './live-lease.js';
import type { LeaseShown } from './roads.js';

/**
 * Takes one segment of what a Dispatch or a Command Run says: written once, durable when it returns, under the lease that is held
 * to the end (H17). Counted before it stands: a segment that is sent again counts again.
 *
 * @throws stale_lease · not_available · conflict (other content under this number) · too_large (the segment, the job, or the worker)
 */
export async function takeOutput(parts: TeamParts, lease: LeaseShown, segment: number, body: Readable): Promise<void> {
  if (!Number.isSafeInteger(segment) || segment < 0 || segment >= limits.outputSegments)
    throw new FarmError('too_large', `A job stores at most ${limits.outputSegments} segments of output.`);
  const job = await requireLive(parts, lease);
  if (job.kind !== 'dispatch' && job.kind !== 'command_run') throw new FarmError('not_available');
  const name = outputSegment(lease.job, lease.epoch, segment);
  const put = await parts.objects.put(name, Readable.from(whileHeld(parts, lease, body)), {
    bytes: limits.outputSegmentBytes,
  });
  if (put.created || (await sha256Of(parts.objects.read(name))) === put.sha256) return;
  throw new FarmError('conflict', 'This segment was written before with other content.');
}

/** A lease that ended while its bytes were on the road writes nothing any more (P2), nor does one that has said enough. */
async function* whileHeld(parts: TeamParts, lease: LeaseShown, body: Readable): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of body) {
    const piece = Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk);
    bytes += piece.length;
    yield piece;
  }
  await requireLive(parts, lease);
  await count(parts, lease, bytes);
}

async function count(parts: TeamParts, lease: LeaseShown, bytes: number): Promise<void> {
  const { bytes: most = limits.outputBytes, bytesPerWorker = limits.outputBytesPerWorker } = parts.outputLimits ?? {};
  const { job, epoch, worker } = lease;
  const asked = { job, epoch, worker, bytes, most, worker_most: bytesPerWorker };
  if (await parts.database.first(outputSql.count, asked)) return;
  const stored = await parts.database.first(outputSql.stored, { job, epoch });
  if ((stored?.bytes ?? 0) + bytes > most)
    throw new FarmError('too_large', `A job stores at most ${most} bytes of output.`, {
      hint: 'Have the command write its output into a file of the workspace, or say less.',
    });
  throw new FarmError(
    'too_large',
    `The jobs that a worker begins on one day store at most ${bytesPerWorker} bytes of output.`,
    {
      hint: 'It takes output again from the next day (UTC) on; have its commands say less.',
    },
  );
}

async function sha256Of(body: Readable): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of body) hash.update(chunk);
  return hash.digest('hex');
}
