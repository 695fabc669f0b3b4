import { Readable } from 'node:stream';
import { FarmError, limits, type OutputFrom } from '#contracts';
import type { TeamParts } from '../parts.js';
import type { OutputToSend } from '../roads/roads.js';
import type { CommandRunRow } from '../rows.js';
import { outputSpan, readSpan } from './output-segments.js';

/**
 * Bytes of what a command said, as they came, from the segments of the lease that the row names and of no other (H17). At most
 * limits.outputAnswerBytes: who wants more asks from `next` on.
 *
 * @throws cursor_reset_required (a place of another lease)
 */
export async function sendOutput(
  { objects }: Pick<TeamParts, 'objects'>,
  run: CommandRunRow,
  from: OutputFrom | undefined,
): Promise<OutputToSend> {
  const { epoch, state, observed_bytes, written_bytes, output_complete: complete } = run;
  const facts = { state, ended: run.ended_at !== null, observed_bytes, written_bytes, complete };
  if (from !== undefined && from.epoch !== epoch)
    throw new FarmError('cursor_reset_required', 'This place is not of this output.', {
      hint: 'Read from the beginning, without `from`.',
    });
  if (epoch === null) return { head: { next: null, is_bounded: false, ...facts }, bytes: 0, body: Readable.from([]) };
  const lease = { job: run.id, epoch };
  const span = await outputSpan(objects, lease, from ?? { segment: 0, offset: 0 }, limits.outputAnswerBytes);
  const { segment, offset } = span.next;
  const head = { next: `${epoch}.${segment}.${offset}`, is_bounded: !span.isLast, ...facts };
  return { head, bytes: span.bytes, body: Readable.from(readSpan(objects, span)) };
}
