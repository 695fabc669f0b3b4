import { FarmError, type InputOf, type OutputOf, type taskSearch } from '#contracts';
import type { Transaction } from '#store';
import { decodeCursor, encodeCursor } from '../cursor.js';
import { taskSql } from '../sql.js';
import { productStatus } from './product-status.js';

/** Newest first; the cursor is a place in that order, so that what starts meanwhile shifts nothing. @throws invalid_input (cursor) */
export async function searchTasks(
  tx: Transaction,
  input: InputOf<typeof taskSearch>,
): Promise<OutputOf<typeof taskSearch>> {
  const before = input.cursor === undefined ? Number.MAX_SAFE_INTEGER : placeOf(input.cursor);
  const rows = await tx.all(taskSql.search, {
    before,
    query: input.query ?? null,
    product: input.status ?? null,
    limit: input.limit + 1,
  });
  const page = rows.slice(0, input.limit);
  const last = page.at(-1);
  return {
    items: page.map(({ seq: _, outcome, waiting, starting, started_at, ended_at, ...row }) => ({
      ...row,
      product_status: productStatus({ status: row.status, outcome, waiting, starting }),
      started_at: started_at.toISOString(),
      ended_at: ended_at?.toISOString() ?? null,
    })),
    next_cursor: rows.length > input.limit && last ? encodeCursor('task', String(last.seq)) : null,
  };
}

function placeOf(cursor: string): number {
  const place = Number(decodeCursor('task', cursor));
  if (Number.isSafeInteger(place)) return place;
  throw new FarmError('invalid_input', 'The cursor is not one of this list.');
}
