import { buffer } from 'node:stream/consumers';
import { z } from 'zod';
import { type commandRunOutputRead, FarmError, type InputOf, type OutputOf, utf8Length } from '#contracts';
import type { TeamParts } from '../parts.js';
import type { CommandRunRow } from '../rows.js';
import { commandRunSql } from '../sql/teams.js';
import { outputSpan, readSpan } from './output-segments.js';
import { SanitizerState, sanitizeOutput } from './sanitize-output.js';

/** A place in the output of one run, at the lease that the row names, and in what state the page before left off. */
const Cursor = z.strictObject({
  run: z.string(),
  epoch: z.int().min(1),
  segment: z.int().min(0),
  offset: z.int().min(0),
  /** Bytes before it. */
  read: z.int().min(0),
  /** The bytes of a character that the page before could not show whole. */
  carry: z.string().max(8),
  /** Of the sanitizer. */
  state: SanitizerState,
});
type Cursor = z.output<typeof Cursor>;

/** One byte that is no UTF-8 is shown as three. */
const mostBytesPerByte = 3;

/**
 * A page of what a command said, from the segments of the lease that the row names and of no other (H17). Segments stand in order;
 * the first that is missing ends what there is. A page never cuts a character in two, nor shows a part of a terminal sequence.
 *
 * @throws not_found, cursor_reset_required
 */
export async function readOutput(
  parts: Pick<TeamParts, 'database' | 'objects'>,
  input: InputOf<typeof commandRunOutputRead>,
): Promise<OutputOf<typeof commandRunOutputRead>> {
  const run = await parts.database.first(commandRunSql.named, { task: input.task_id, name: input.command_id });
  if (!run) throw new FarmError('not_found', 'There is no such command in this Task.');
  const { epoch } = run;
  if (epoch === null) {
    if (input.cursor !== undefined) throw resetCursor();
    return answer(run, { text: '', next: null, isBounded: false, read: undefined });
  }
  const from = input.cursor === undefined ? beginning(run.name, epoch) : readCursor(input.cursor);
  // Of another run, or of another lease: what it showed is not what the row names now.
  if (from.run !== run.name || from.epoch !== epoch) throw resetCursor();
  const page = await showPage(parts, run, from, input.limit);
  if (utf8Length(page.text) <= input.limit) return answer(run, page);
  return answer(run, await showPage(parts, run, from, Math.max(1, Math.floor(input.limit / mostBytesPerByte))));
}

const beginning = (run: string, epoch: number): Cursor => ({
  run,
  epoch,
  segment: 0,
  offset: 0,
  read: 0,
  carry: '',
  state: 't',
});

interface Shown {
  readonly text: string;
  readonly next: Cursor | null;
  readonly isBounded: boolean;
  /** How much there is, where it is known: on the last page. */
  readonly read: number | undefined;
}

function answer(run: CommandRunRow, { text, next, isBounded, read }: Shown): OutputOf<typeof commandRunOutputRead> {
  // of an abandoned run nobody said how much had arrived
  const known = read !== undefined && run.state !== 'abandoned';
  return {
    command_id: run.name,
    text,
    state: run.state,
    next_cursor: next === null ? null : writeCursor(next),
    is_bounded: isBounded,
    output_complete: run.ended_at !== null && run.output_complete,
    is_missing: known && read === 0 && run.written_bytes > 0,
    is_changed: known && read !== run.written_bytes,
  };
}

async function showPage(
  { objects }: Pick<TeamParts, 'objects'>,
  run: CommandRunRow,
  from: Cursor,
  limit: number,
): Promise<Shown> {
  const span = await outputSpan(objects, { job: run.id, epoch: from.epoch }, from, limit);
  const bytes = Buffer.concat([Buffer.from(from.carry, 'base64'), await buffer(readSpan(objects, span))]);
  const read = from.read + span.bytes;
  const isBounded = !span.isLast;
  if (span.isLast && run.ended_at !== null)
    return { text: sanitizeOutput(bytes.toString(), from.state).text, next: null, isBounded, read };
  const whole = bytes.length - halfCharacter(bytes);
  const { text, state } = sanitizeOutput(bytes.subarray(0, whole).toString(), from.state);
  const carry = bytes.subarray(whole).toString('base64');
  return { text, next: { ...from, ...span.next, read, carry, state }, isBounded, read: undefined };
}

/** How many bytes at the end begin a character of UTF-8 and do not end it. */
function halfCharacter(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte > 0xf4 ? 1 : byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc2 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}

function readCursor(text: string): Cursor {
  try {
    return Cursor.parse(JSON.parse(Buffer.from(text, 'base64url').toString()));
  } catch {
    throw resetCursor();
  }
}

function writeCursor(cursor: Cursor): string {
  return Buffer.from(JSON.stringify(cursor)).toString('base64url');
}

function resetCursor(): FarmError {
  return new FarmError('cursor_reset_required', 'This cursor is not of this output.', {
    hint: 'Read from the beginning, without a cursor.',
  });
}
