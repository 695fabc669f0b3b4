import type { z } from 'zod';
import type { PauseReason } from '#contracts';
import type { Transaction } from '#store';
import type { TeamParts } from '../parts.js';
import type { TaskRow } from '../rows.js';
import { taskSql } from '../sql/teams.js';
import { announce } from '../webhook/announce.js';
import { record } from './events.js';
import { openAttention } from './open-attention.js';

interface Pause {
  /** A person; absent: the farm by itself. */
  readonly principal?: string;
  readonly reason: z.output<typeof PauseReason>;
  /** For the person who must act. */
  readonly detail: string;
  readonly attention?: 'source_unavailable' | 'workspace_unavailable' | 'lane_exhausted' | 'budget_exhausted';
}

/**
 * Pauses a Task: its waiting jobs are held and its sessions told to stop, hand in their work and end; commands go on to their end
 * (D8, §6.3 of the team rules). The caller holds its lock.
 */
export async function pauseTask(
  parts: Pick<TeamParts, 'queue' | 'bell'>,
  tx: Transaction,
  task: TaskRow,
  pause: Pause,
): Promise<TaskRow> {
  const paused = await tx.first(taskSql.move, {
    task: task.id,
    from: task.status,
    to: 'paused',
    outcome: null,
    reason: pause.reason,
    detail: pause.detail,
    step: 1,
  });
  if (!paused) throw new Error('the Task was not as it stood under its lock');
  await parts.queue().hold(tx, task.id);
  await parts.queue().flagEnd(tx, task.id, 'pause', pause.detail, 'dispatch');
  const { attention: kind, reason, detail } = pause;
  if (kind) await openAttention(parts, tx, { task: task.id, job: null, kind, summary: detail });
  record(parts, tx, {
    task: task.id,
    type: 'task_paused',
    source: pause.principal === undefined ? 'controller' : 'operator',
    ...(pause.principal === undefined ? {} : { principal: pause.principal }),
    payload: { reason, detail },
  });
  await announce(parts, tx, task.id, { event: 'task_paused', reason, detail });
  return paused;
}
