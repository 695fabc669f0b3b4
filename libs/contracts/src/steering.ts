import { z } from 'zod';
import { contract } from './contract.js';
import { AuthoredId, TaskId } from './ids.js';
import { limits } from './limits.js';
import { prose, storable } from './text.js';

export const taskMemberSteer = contract({
  name: 'task_member_steer',
  group: 'task',
  summary: 'Say something to a member at work, into its running turn.',
  input: z.strictObject({
    task_id: TaskId,
    member_id: AuthoredId.describe('id of a member of the Task that is at work'),
    /** Other facts, nothing said (I16). */
    action_id: storable(64).describe('id of its steer_action, as task_get showed it; refused when facts have changed'),
    message: prose(limits.steerMessage).describe('what the member is told'),
  }),
  output: z.strictObject({
    member_id: z.string(),
    /**
     * delivered: the member has it. queued: it will be told while this turn lasts. uncertain: sent, and the session ended before it
     * answered; it is not sent again by itself.
     */
    status: z.enum(['delivered', 'queued', 'uncertain']),
  }),
  errors: ['not_found', 'conflict'],
  positional: ['task_id', 'member_id', 'message'],
});
