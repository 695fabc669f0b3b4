import { FarmError } from '#contracts';
import type { Queries } from '#store';
import { fenceOf } from './context.js';
import type { Holder, LeaseFence } from './job.js';
import { leaseSql } from './sql/lease.js';

/** One answer for an unknown job, another's job, a wrong epoch and a lease that ended (A12.7). */
export function staleLease(): FarmError {
  return new FarmError('stale_lease', undefined, {
    hint: 'Stop the work on it; what was made can still be uploaded and is kept as a rescue.',
  });
}

/**
 * The fence did not hold: whoever ended this very lease with the same call gets the same answer again, with another call a
 * conflict; everyone else is stale (A12.8, A12.9, D13).
 */
export async function sameAnswerOr(
  queries: Queries,
  holder: Holder,
  lease: LeaseFence,
  hash: Buffer,
): Promise<unknown> {
  const ended = await queries.first(leaseSql.ended, fenceOf(holder, lease));
  if (!ended?.ended_hash) throw staleLease();
  if (!ended.ended_hash.equals(hash)) {
    throw new FarmError('conflict', 'This lease was ended already, with another result.', {
      hint: 'The first end stands.',
    });
  }
  return ended.answer;
}
