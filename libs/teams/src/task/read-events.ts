import { z } from 'zod';
import { bells, FarmError, type InputOf, type OutputOf, type taskEvents } from '#contracts';
import type { Transaction } from '#store';
import type { TeamParts } from '../parts.js';
import { taskSql } from '../sql.js';

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

/** Without a bell that is heard, so often. */
const lookMs = 1_000;

/** Waits for a ring or a timer and looks, until there is news, the Task is over, the time is up or the caller has gone. */
export async function waitForNews(
  parts: Pick<TeamParts, 'database' | 'bell'>,
  input: Input,
  signal: AbortSignal,
): Promise<void> {
  if (input.wait_seconds === 0) return;
  const until = performance.now() + input.wait_seconds * 1_000;
  const ear = openEar();
  // Listening comes before the first look, so that no ring falls between the two.
  const stop = parts.bell.listen(bells.task(input.task_id), ear.ring);
  signal.addEventListener('abort', ear.ring);
  try {
    while (!signal.aborted && !(await hasNews(parts, input))) {
      const left = until - performance.now();
      if (left <= 0) return;
      await ear.heard(Math.min(left, lookMs));
    }
  } finally {
    stop();
    signal.removeEventListener('abort', ear.ring);
  }
}

async function hasNews(parts: Pick<TeamParts, 'database'>, input: Input): Promise<boolean> {
  const head = await parts.database.first(taskSql.head, { task: input.task_id });
  return !head || head.event_seq > input.after || head.status === 'completed' || head.status === 'cancelled';
}

/** Remembers a ring that comes while nobody waits. */
function openEar(): { ring(): void; heard(atMostMs: number): Promise<void> } {
  let rung = false;
  let wake: (() => void) | undefined;
  return {
    ring() {
      rung = true;
      wake?.();
    },
    async heard(atMostMs) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, atMostMs);
      wake = resolve;
      if (rung) resolve();
      await promise;
      clearTimeout(timer);
      wake = undefined;
      rung = false;
    },
  };
}
