import type { z } from 'zod';
import type { ProductStatus, TaskStatus } from '#contracts';

interface Facts {
  readonly status: z.output<typeof TaskStatus>;
  readonly outcome: 'green' | 'blocked' | null;
  /** A person is asked. */
  readonly waiting: boolean;
  /** A Dispatch has not started yet. */
  readonly starting: boolean;
}

/** What a person is shown; the first that fits (§2.2 of the team rules). */
export function productStatus({ status, outcome, waiting, starting }: Facts): z.output<typeof ProductStatus> {
  if (status === 'completed') return outcome === 'blocked' ? 'blocked' : 'completed';
  if (status !== 'running') return status;
  if (waiting) return 'waiting_for_you';
  return starting ? 'starting' : 'working';
}
