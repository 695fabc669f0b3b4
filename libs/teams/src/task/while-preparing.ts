import { bells, FarmError, limits } from '#contracts';
import type { TeamParts } from '../parts.js';
import { taskSql } from '../sql/teams.js';

/**
 * Work for a Task for as long as it is being prepared: a cancel breaks a slow origin off. Looks when the Task's bell rings and every
 * few seconds. Undefined when it was broken off.
 */
export async function whilePreparing<T>(
  parts: Pick<TeamParts, 'bell' | 'database'>,
  task: string,
  closing: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T | undefined> {
  const gone = new AbortController();
  const signal = AbortSignal.any([gone.signal, closing]);
  const look = async (): Promise<void> => {
    const row = await parts.database.first(taskSql.head, { task });
    if (row?.status !== 'preparing') gone.abort();
  };
  // What a look could not see the next one will.
  const again = (): void => void look().catch(() => undefined);
  const timer = setInterval(again, limits.pollMs);
  const deaf = parts.bell.listen(bells.task(task), again);
  try {
    return await work(signal);
  } catch (error) {
    if (signal.aborted && error instanceof FarmError && error.code === 'unavailable') return undefined;
    throw error;
  } finally {
    clearInterval(timer);
    deaf();
  }
}
