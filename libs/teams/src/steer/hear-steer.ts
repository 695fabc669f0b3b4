import { bells } from '#contracts';
import type { JobRow, SignalOutcome } from '#jobs';
import type { Transaction } from '#store';
import type { TeamParts } from '../parts.js';
import { steerSql } from '../sql/steer.js';
import { record } from '../task/events.js';

/** What the session's machine says of a message. The event is there exactly when the session has it (I23). The Task's lock is held. */
export async function hearSteer(
  parts: Pick<TeamParts, 'bell'>,
  tx: Transaction,
  job: Pick<JobRow, 'id'>,
  { seq, outcome }: { readonly seq: number; readonly outcome: SignalOutcome },
): Promise<void> {
  const steer = await tx.first(steerSql.settle, { dispatch: job.id, seq, outcome });
  if (!steer) return;
  const { task, member, message, principal } = steer;
  if (outcome === 'delivered')
    record(parts, tx, { task, type: 'member_steered', source: 'operator', principal, payload: { member, message } });
  else tx.afterCommit(() => parts.bell.ring(bells.task(task)));
}
