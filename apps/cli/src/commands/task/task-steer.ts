import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { FarmError, type TaskMember, taskGet, taskMemberSteer, taskOverview } from '#contracts';
import { argumentFields } from '../../arguments/fields.js';
import { readInput } from '../../arguments/read-input.js';
import type { FarmClient } from '../../client/farm-client.js';
import { commandAt, type Frame, runs } from '../frame.js';
import { readNamedText } from '../read-document.js';

const told = {
  delivered: 'has it',
  queued: 'will be told it while this turn lasts',
  uncertain: 'may have it: its session ended before it answered, and it is not sent again by itself',
} as const;

/** `task steer`: a word to a member at work. The Task is read, and the action that it offers is called by its id (I16). */
export function addTaskSteer(program: Command, frame: Frame): void {
  const command = commandAt(program, ['task', 'steer'])
    .description(taskMemberSteer.summary)
    .argument('<task_id>')
    .argument('<member_id>')
    .argument('<message>', 'or `-` for stdin');
  runs(command, frame, async (run, _options, [task_id, member_id, word = '']) => {
    const { screen, surroundings } = run;
    const { signal } = surroundings;
    const message = word === '-' ? await readNamedText(word, surroundings) : word;
    const asked = readInput(taskOverview, argumentFields(taskOverview), { task_id }, undefined);
    readInput(
      taskMemberSteer,
      argumentFields(taskMemberSteer),
      { task_id, member_id, message, action_id: 'x' },
      undefined,
    );
    const client = await run.client();
    const view = await client.call(taskOverview, asked, { signal });
    const member =
      view.team.find((each) => each.member_id === member_id) ??
      (view.totals.team > view.team.length ? await oneMember(client, { task_id, member_id }, signal) : undefined);
    if (!member)
      throw new FarmError('not_found', 'This Task has no such member.', {
        hint: `Its members are ${view.team.map((each) => each.member_id).join(', ')}.`,
      });
    if (member.steer_action === null)
      throw new FarmError('conflict', `This member is ${member.state.replace('_', ' ')}: nobody would hear it.`, {
        hint: 'A member can be told something while its session runs.',
      });
    const input = { task_id: view.task_id, member_id: member.member_id, action_id: member.steer_action.id, message };
    const answer = await client.call(taskMemberSteer, input, { idempotencyKey: randomUUID(), signal });
    screen.answer(answer);
    screen.show(`${answer.member_id} ${told[answer.status]}`);
  });
}

/** One that a large team's overview does not list. @throws RemoteError `not_found` */
async function oneMember(
  client: FarmClient,
  { task_id, member_id }: { readonly task_id: string | undefined; readonly member_id: string | undefined },
  signal: AbortSignal,
): Promise<TaskMember | undefined> {
  const answer = await client.call(taskGet, { task_id, selection: { kind: 'member', member_id } }, { signal });
  return answer.selection === 'member' ? answer : undefined;
}
