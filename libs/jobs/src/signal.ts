import { FarmError } from '#contracts';
import type { Transaction } from '#store';
import { lockScope, type QueueContext } from './context.js';
import { leaseSql } from './sql/lease.js';
import { queueSql } from './sql/queue.js';

export async function signal(
  context: QueueContext,
  tx: Transaction,
  id: string,
  { kind, text }: { readonly kind: 'steer' | 'interrupt'; readonly text: string },
): Promise<number> {
  const found = await tx.first(leaseSql.find, { job_id: id });
  if (found) await lockScope(context, tx, found);
  const job = found && (await tx.first(leaseSql.lock, { job_id: id }));
  if (!job || job.settled_at !== null) throw new FarmError('conflict', 'The job has ended: nobody would hear it.');
  const row = await tx.first(queueSql.signal, { job_id: id, kind, body: JSON.stringify({ text }) });
  if (!row) throw new Error('job.signal inserted no row');
  return row.seq;
}
