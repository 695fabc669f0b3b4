import { z } from 'zod';
import { FarmError, type InputOf, type OutputOf, type taskEvents } from '#contracts';
import type { Transaction } from '#store';
import type { TeamParts } from '../parts.js';
import { taskSql } from '../sql/teams.js';
import { waitAtBell } from './wait-at-bell.js';

type Input = InputOf<typeof taskEvents>;

/** The record past `after`, in sequence (I19, H16). @throws not_found */
export async function readEvents(tx: Transaction, input: Input): Promise<OutputOf<typeof taskEvents>> {
  const head = await tx.first(taskSql.head, { task: input.task_id });
  if (!head) throw new FarmError('not_found', 'There is no such Task.');
  const rows = await tx.all(taskSql.events, { task: input.task_id, after: input.after, limit: input.limit });
  return {
    events: rows.map(({ seq, type, at, payload }) => ({
      seq,
      type,
      at: at.toISOString(),
      payload: z.json().parse(payload),
    })),
    status: head.status,
  };
}

/** Waits until there is news, the Task is over, the time is up or the caller has gone. */
export async function waitForNews(
  parts: Pick<TeamParts, 'database' | 'bell'>,
  input: Input,
  signal: AbortSignal,
): Promise<void> {
  if (input.wait_seconds === 0) return;
  const atMostMs = input.wait_seconds * 1_000;
  await waitAtBell(parts, input.task_id, () => hasNews(parts, input), { atMostMs, signal });
}

async function hasNews(parts: Pick<TeamParts, 'database'>, input: Input): Promise<boolean> {
  const head = await parts.database.first(taskSql.head, { task: input.task_id });
  return !head || head.event_seq > input.after || head.status === 'completed' || head.status === 'cancelled';
}
