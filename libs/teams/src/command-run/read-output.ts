import { z } from 'zod';
import { type commandRunOutputRead, FarmError, type InputOf, type OutputOf } from '#contracts';
import type { TeamParts } from '../parts.js';
import { commandRunSql } from '../sql.js';

/** `carry`: the bytes of a character that the page before could not show whole. */
const Cursor = z.strictObject({
  epoch: z.int().min(1),
  segment: z.int().min(0),
  offset: z.int().min(0),
  carry: z.string().max(8),
});
type Cursor = z.output<typeof Cursor>;

/** Where a segment of a job's output lies, by the lease that wrote it. */
export function outputSegment(job: string, epoch: number, segment: number): string {
  return `output/${job}/${epoch}/${String(segment).padStart(8, '0')}`;
}

/**
 * A page of what a command said, from the segments of the lease that the row names and of no other (H17). Segments stand in order;
 * the first that is missing ends what there is. A page never cuts a character in two.
 *
 * @throws not_found, invalid_input (cursor)
 */
export async function readOutput(
  parts: Pick<TeamParts, 'database' | 'objects'>,
  input: InputOf<typeof commandRunOutputRead>,
): Promise<OutputOf<typeof commandRunOutputRead>> {
  const run = await parts.database.first(commandRunSql.named, { task: input.task_id, name: input.command_id });
  if (!run) throw new FarmError('not_found', 'There is no such command in this Task.');
  const { state, epoch } = run;
  if (epoch === null) return { text: '', state, next_cursor: null };
  const from = input.cursor === undefined ? beginning(epoch) : readCursor(input.cursor);
  // Of another lease: what it showed is not what the row names now.
  if (from.epoch !== epoch) throw badCursor();
  const page = await gather(parts, run.id, from, input.limit);
  const bytes = Buffer.concat([Buffer.from(from.carry, 'base64'), page.bytes]);
  if (page.isLast && run.ended_at !== null) return { text: bytes.toString(), state, next_cursor: null };
  const half = halfCharacter(bytes);
  return {
    text: bytes.subarray(0, bytes.length - half).toString(),
    state,
    next_cursor: writeCursor({ ...page.at, epoch, carry: bytes.subarray(bytes.length - half).toString('base64') }),
  };
}

const beginning = (epoch: number): Cursor => ({ epoch, segment: 0, offset: 0, carry: '' });

interface Page {
  readonly bytes: Buffer;
  /** The place behind it. */
  readonly at: { readonly segment: number; readonly offset: number };
  /** There is no more now. */
  readonly isLast: boolean;
}

async function gather(
  { objects }: Pick<TeamParts, 'objects'>,
  job: string,
  from: Cursor,
  limit: number,
): Promise<Page> {
  const parts: Buffer[] = [];
  let at = { segment: from.segment, offset: from.offset };
  for (let room = limit; ; ) {
    const name = outputSegment(job, from.epoch, at.segment);
    const size = await objects.size(name);
    if (size === undefined) return { bytes: Buffer.concat(parts), at, isLast: true };
    const take = Math.min(room, size - at.offset);
    if (take > 0) parts.push(await readAll(objects.read(name, { start: at.offset, end: at.offset + take - 1 })));
    room -= Math.max(0, take);
    if (room === 0) return { bytes: Buffer.concat(parts), at: { ...at, offset: at.offset + take }, isLast: false };
    at = { segment: at.segment + 1, offset: 0 };
  }
}

async function readAll(body: AsyncIterable<unknown>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) if (chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

/** How many bytes at the end begin a character of UTF-8 and do not end it. */
function halfCharacter(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}

function readCursor(text: string): Cursor {
  try {
    return Cursor.parse(JSON.parse(Buffer.from(text, 'base64url').toString()));
  } catch {
    throw badCursor();
  }
}

function writeCursor(cursor: Cursor): string {
  return Buffer.from(JSON.stringify(cursor)).toString('base64url');
}

function badCursor(): FarmError {
  return new FarmError('invalid_input', 'This cursor is not of this output.', {
    hint: 'Read from the beginning, without a cursor.',
  });
}
