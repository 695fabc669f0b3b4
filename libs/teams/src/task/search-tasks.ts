import { FarmError, type InputOf, type OutputOf, type taskSearch } from '#contracts';
import type { Transaction } from '#store';
import { decodeCursor, encodeCursor } from '../cursor.js';
import { taskSql } from '../sql/teams.js';
import { productStatus } from './product-status.js';

/** Newest first; the cursor is a place in that order, so that what starts meanwhile shifts nothing. @throws cursor_reset_required */
export async function searchTasks(
  tx: Transaction,
  input: InputOf<typeof taskSearch>,
): Promise<OutputOf<typeof taskSearch>> {
  const list = listOf(input);
  const before = input.cursor === undefined ? Number.MAX_SAFE_INTEGER : placeOf(list, input.cursor);
  const rows = await tx.all(taskSql.search, {
    before,
    query: input.query ?? null,
    product: input.status ?? null,
    limit: input.limit + 1,
  });
  const page = rows.slice(0, input.limit);
  const last = page.at(-1);
  return {
    items: page.map(({ seq: _, outcome, waiting, starting, started_at, ended_at, setup_failed, verify, ...row }) => ({
      ...row,
      ...factsOf({ ...row, outcome, setup_failed, verify }),
      product_status: productStatus({ status: row.status, outcome, waiting, starting }),
      started_at: started_at.toISOString(),
      ended_at: ended_at?.toISOString() ?? null,
    })),
    next_cursor: rows.length > input.limit && last ? encodeCursor(list, String(last.seq)) : null,
  };
}

interface Facts {
  readonly status: string;
  readonly outcome: string | null;
  readonly verify: boolean;
  readonly verified: boolean | null;
  readonly setup_failed: boolean;
  readonly attention: number;
}

/** What `task_get` derives from the Result, at a glance. */
function factsOf({ status, outcome, verify, verified, setup_failed, attention }: Facts) {
  const over = status === 'completed';
  const passed = verify ? verified === true : ('not_asked' as const);
  const derived = [outcome === 'blocked', outcome === 'green' && passed === false, setup_failed];
  return { verified: over ? passed : null, attention: attention + derived.filter((is) => over && is).length };
}

/** What the query finds is the list: a cursor leads on in no other. */
function listOf({ query, status }: InputOf<typeof taskSearch>): string {
  return `tasks ${JSON.stringify([query?.toLowerCase() ?? null, status ?? null])}`;
}

function placeOf(list: string, cursor: string): number {
  const place = Number(decodeCursor(list, cursor));
  if (Number.isSafeInteger(place)) return place;
  throw new FarmError('cursor_reset_required', 'The cursor is not one of this list.');
}
