import { newId } from '#contracts';
import type { Transaction } from '#store';
import type { Standing } from '../handover/handover-rule.js';
import type { TeamParts } from '../parts.js';
import { dispatchSql } from '../sql/teams.js';
import { nameRun } from './name-run.js';
import { openRun } from './open-run.js';

/**
 * The farm's own Command Run on the final tree of a Task whose root is green, in the transaction that accepts the green. The Task
 * completes with the run's end, whatever that is; also while it is paused, as a green completes it then (D8).
 */
export async function openVerify(parts: TeamParts, tx: Transaction, standing: Standing): Promise<void> {
  const { verify } = standing.task.settings;
  if (verify === undefined) throw new Error('nothing is to be verified');
  const last = await tx.first(dispatchSql.lastWorker, { assignment: standing.assignment.id });
  await openRun(parts, tx, standing, {
    id: newId(),
    name: await nameRun(parts, tx),
    purpose: 'verify',
    request: {
      command: { kind: 'shell', command: verify.command },
      timeout_seconds: verify.timeout_seconds,
      summary: 'Verify the final tree',
    },
    warm: last?.worker,
  });
}
