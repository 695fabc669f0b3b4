import type { TeamParts } from '../parts.js';
import { commandRunSql } from '../sql/teams.js';

const batch = 50;

/**
 * A run waits for the machine on which its member worked only while that is heard and takes work; when it is full, so long as its
 * job says (D15). Answers the runs that go to any machine now.
 */
export async function freeRuns(parts: TeamParts, takeWork: readonly string[]): Promise<readonly string[]> {
  const waiting = await parts.database.all(commandRunSql.waitingForMachine, { limit: batch });
  const alone = waiting.filter(({ worker }) => !takeWork.includes(worker)).map(({ id }) => id);
  // each on its own, without a Task's lock: whoever claims it meanwhile has it
  for (const id of alone) await parts.database.transaction((tx) => parts.queue().dropPreference(tx, id));
  return alone;
}
