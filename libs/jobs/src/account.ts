import type { Transaction } from '#store';
import { type QueueContext, ringLater } from './context.js';
import { accountSql } from './sql/account.js';
import { leaseSql } from './sql/lease.js';
import { classOf } from './submit.js';

const prefix = 'account:';

/**
 * A waiting job goes under another account, with the payload that its worker then gets; false where it waits no more. The caller
 * holds the scope's lock.
 */
export async function useAccount(
  context: QueueContext,
  tx: Transaction,
  id: string,
  { account, payload }: { readonly account: string; readonly payload: unknown },
): Promise<boolean> {
  const job = await tx.first(leaseSql.find, { job_id: id });
  if (!job) return false;
  const limits = [...job.limits.filter((name) => !name.startsWith(prefix)), `${prefix}${account}`].sort();
  const moved = await tx.first(accountSql.useAccount, {
    job_id: id,
    account,
    limits,
    class: classOf({ ...job, account, limits }),
    payload: JSON.stringify(payload),
  });
  if (moved) ringLater(context, tx, moved);
  return moved !== undefined;
}
