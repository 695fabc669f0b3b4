import type { CommandRunRow, TaskRow } from '../rows.js';
import { actionIdOf } from '../task/actions.js';

/** What may be done to a run of a Task that is not over; undefined: nothing (I16, §6.1 of the team rules). */
export function cancelAction(
  { id, status }: Pick<TaskRow, 'id' | 'status'>,
  { name, state, epoch }: Pick<CommandRunRow, 'name' | 'state' | 'epoch'>,
): string | undefined {
  if (status !== 'running' && status !== 'paused') return undefined;
  if (state !== 'pending_start' && state !== 'running') return undefined;
  return actionIdOf([id, name, state, epoch, 'cancel']);
}
