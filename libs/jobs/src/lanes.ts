import { limits } from '#contracts';
import type { Transaction } from '#store';
import { lockScope, type QueueContext, ringLater } from './context.js';
import type { JobRow } from './job.js';
import { laneSql } from './sql/lanes.js';

type InScope = Pick<JobRow, 'kind' | 'scope'>;

/** After a lane became free. The scope's lock is held. */
export async function admitNext(context: QueueContext, tx: Transaction, { kind, scope }: InScope): Promise<void> {
  const lanes = context.kinds.get(kind)?.lanes;
  if (lanes === undefined || scope === null) return;
  for (const job of await tx.all(laneSql.admit, { scope, kind, lanes })) ringLater(context, tx, job);
}

/** Kinds that have lanes. */
export function lanedKinds(context: QueueContext): readonly string[] {
  return [...context.kinds.values()].filter(({ lanes }) => lanes !== undefined).map(({ name }) => name);
}

/** Whatever was missed: free lanes are given away, and lanes that nobody uses go on to who waits. */
export async function sweepLanes(context: QueueContext): Promise<void> {
  for (const waiting of await context.database.all(laneSql.awaited)) {
    try {
      await context.database.transaction(async (tx) => {
        await lockScope(context, tx, waiting);
        await tx.run(laneSql.passOn, { ...waiting, patience_ms: limits.laneUnusedMs });
        await admitNext(context, tx, waiting);
      });
    } catch (error) {
      context.onTrouble(waiting.scope, error);
    }
  }
}
