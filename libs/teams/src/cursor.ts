import { z } from 'zod';
import { FarmError, isStorable } from '#contracts';

const Cursor = z.tuple([z.string(), z.string()]);

/** An opaque place in one list, of one query; the cursor of another is refused. */
export function encodeCursor(list: string, place: string): string {
  return Buffer.from(JSON.stringify([list, place])).toString('base64url');
}

/** @throws cursor_reset_required */
export function decodeCursor(list: string, cursor: string): string {
  const read = Cursor.safeParse(parsed(Buffer.from(cursor, 'base64url').toString()));
  if (read.success && read.data[0] === list && isStorable(read.data[1])) return read.data[1];
  throw new FarmError('cursor_reset_required', 'The cursor is not one of this list.', {
    hint: 'Start again without a cursor.',
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
