import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aTeamFarm, leaseTime, type TeamFarm } from '../../../../test/support/team-farm.js';

let farm: TeamFarm;
beforeAll(async () => {
  farm = await aTeamFarm();
  await farm.workflow('all', {
    capabilities: { human_request: ['input'], command_run: 'allow' },
    children: [{ id: 'a', capabilities: { command_run: 'allow' } }, { id: 'b' }],
  });
});
afterAll(() => farm.close());

const green = { summary: 'Done', outcome: 'green' } as const;
const options = [
  { id: 'l', title: 'Left' },
  { id: 'r', title: 'Right' },
];
const question = { kind: 'input' as const, summary: 'Which?', items: [{ id: 'q', prompt: 'Which?', options }] };
const command = { command: { kind: 'shell' as const, command: 'true' }, summary: 'Look' };

interface Lane {
  readonly member: string;
  readonly open: boolean;
  readonly at_work: number;
  readonly waits: number;
}

/** How each Assignment of a Task stands: Dispatches that are open, and what it waits for. */
const lanesOf = (task: string) =>
  farm.sql<Lane>(`select a.member, a.closed_at is null as open,
    (select count(*)::int from dispatch d where d.assignment = a.id and d.closed_at is null) as at_work,
    (select count(*)::int from human_request h where h.assignment = a.id and h.status = 'open')
      + (select count(*)::int from command_run c where c.assignment = a.id and c.purpose = 'member'
          and c.state in ('pending_start', 'running', 'cancellation_requested'))
      + (select count(*)::int from wave w where w.assignment = a.id and w.status = 'open') as waits
    from assignment a where a.task = '${task}' order by a.created_at, a.member`);

/** I1: at work or waiting, never both and never neither; nothing once it has reported. Answers who is where. */
async function stand(task: string): Promise<Readonly<Record<string, 'works' | 'waits' | 'closed'>>> {
  const lanes = await lanesOf(task);
  for (const lane of lanes)
    expect({ ...lane, sum: lane.at_work + lane.waits }).toMatchObject({ sum: lane.open ? 1 : 0 });
  return Object.fromEntries(
    lanes.map(({ member, open, at_work }) => [member, open ? (at_work === 1 ? 'works' : 'waits') : 'closed']),
  );
}

describe('an Assignment', () => {
  it('I1 is at work or waits, one of the two, through questions, commands, Waves, pauses and losses, and neither once closed', async () => {
    const { task, worker } = await farm.alone({ workflow_id: 'all' });
    const north = worker('north');
    expect(await stand(task)).toEqual({ lead: 'works' });

    const first = await north.begin();
    let request = '';
    await north.handOverBy(first, async (callId) => {
      request = (await north.ask(first, question, callId)).request_id;
      expect(await stand(task)).toEqual({ lead: 'works' });
    });
    expect(await stand(task)).toEqual({ lead: 'waits' });
    await farm.control(task, 'pause');
    await farm.respond(task, request, { kind: 'cancel' });
    await farm.control(task, 'resume');
    expect(await stand(task)).toEqual({ lead: 'works' });

    const second = await north.begin();
    await north.handOverBy(second, (callId) => north.run(second, command, callId));
    expect(await stand(task)).toEqual({ lead: 'waits' });
    const run = await north.begin();
    expect(await stand(task)).toEqual({ lead: 'waits' });
    await north.complete(run, 'exited', {
      exit_code: 0,
      tail: '',
      output: { observed_bytes: 0, written_bytes: 0, complete: true },
    });
    expect(await stand(task)).toEqual({ lead: 'works' });

    const third = await north.begin();
    const assignments = ['a', 'b'].map((child_id) => ({ child_id, prompt: 'Do it' }));
    await north.handOverBy(third, (callId) => north.delegate(third, { assignments }, callId));
    expect(await stand(task)).toEqual({ lead: 'waits', a: 'works', b: 'works' });

    const both = [await north.begin(), await north.begin()];
    const of = async (member: string) => {
      for (const lease of both) if ((await north.context(lease)).current_member.id === member) return lease;
      throw new Error(`no lease of ${member}`);
    };
    const [a, b] = [await of('a'), await of('b')];
    await north.handOverBy(a, (callId) => north.run(a, command, callId));
    await north.complete(b, 'crashed');
    expect(await stand(task)).toEqual({ lead: 'waits', a: 'waits', b: 'works' });
    const rest = [await north.begin(), await north.begin()];
    await farm.time.pass(leaseTime);
    await farm.queue.sweep();
    // The command is abandoned, and its member goes on; the Dispatch goes to another machine.
    expect(await stand(task)).toEqual({ lead: 'waits', a: 'works', b: 'works' });
    expect(rest).toHaveLength(2);

    for (const _ of both) await north.handOver(await north.begin(), green);
    expect(await stand(task)).toEqual({ lead: 'waits', a: 'closed', b: 'closed' });
    await farm.teams.sweeps.joinWaves();
    expect(await stand(task)).toEqual({ lead: 'works', a: 'closed', b: 'closed' });
    await north.handOver(await north.begin(), green);
    expect(await stand(task)).toEqual({ lead: 'closed', a: 'closed', b: 'closed' });
    expect(await farm.view(task)).toMatchObject({ status: 'completed' });
  });
});
