import type { HumanRequestRow } from '../sql/human-request.js';
import { actionIdOf } from '../task/actions.js';

/** What may be done to an open request; undefined: nothing (I16). */
export function requestAction(
  { id, task, status, opened_at }: Pick<HumanRequestRow, 'id' | 'task' | 'status' | 'opened_at'>,
  kind: 'answer' | 'cancel',
): string | undefined {
  if (status !== 'open') return undefined;
  return actionIdOf([task, id, status, opened_at.toISOString(), kind]);
}
