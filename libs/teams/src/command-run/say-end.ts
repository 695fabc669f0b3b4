import type { CommandRunRow } from '../rows.js';

/** How a Command Run ended, in a sentence. */
export function sayEnd({ state, exit_code, detail }: Pick<CommandRunRow, 'state' | 'exit_code' | 'detail'>): string {
  const why = detail === null ? '' : ` ${detail}`;
  switch (state) {
    case 'succeeded':
      return `It ended with 0.${why}`;
    case 'failed':
      return `${exit_code === null ? 'It failed.' : `It ended with ${exit_code}.`}${why}`;
    case 'timed_out':
      return `It ran out of time and was ended.${why}`;
    case 'cancelled':
      return `It was cancelled.${why}`;
    case 'abandoned':
      return `Its machine was lost: what it did is unknown, and it is not run again by itself.${why}`;
    case 'pending_start':
      return 'It waits for a machine.';
    case 'running':
      return 'It runs.';
    case 'cancellation_requested':
      return 'It is being ended.';
  }
}
