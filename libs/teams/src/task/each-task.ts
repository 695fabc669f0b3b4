import type { TeamParts } from '../parts.js';

/**
 * Does one thing for each Task in turn, also when it fails for some of them (H13). Answers those for which it did something.
 *
 * @throws AggregateError at the end, when nobody listens to troubles
 */
export async function eachTask(
  { onTrouble }: Pick<TeamParts, 'onTrouble'>,
  tasks: readonly string[],
  act: (task: string) => Promise<boolean>,
): Promise<readonly string[]> {
  const done: string[] = [];
  const troubles: unknown[] = [];
  for (const task of tasks) {
    try {
      if (await act(task)) done.push(task);
    } catch (error) {
      if (onTrouble) onTrouble(error, task);
      else troubles.push(error);
    }
  }
  if (troubles.length > 0) throw new AggregateError(troubles, 'A sweep failed for some Tasks.');
  return done;
}
