import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { getCurrentContext } from '#contracts';
import { aRepository } from '../../../../test/support/repositories.js';
import { aTeamFarm, leaseTime, type TeamFarm } from '../../../../test/support/team-farm.js';
import { uploadedSource } from '../../../../test/support/uploaded-source.js';

let farm: TeamFarm;
beforeAll(async () => {
  farm = await aTeamFarm();
  await farm.workflow('told', { title: 'Lead', instruction: 'Be brief.', capabilities: { command_run: 'allow' } });
});
afterAll(() => farm.close());

const alone = async () => {
  const source = await uploadedSource(farm, aRepository({ 'a.txt': 'a\n' }));
  const files = [{ path: 'a.txt', description: 'here' }];
  return await farm.alone({ workflow_id: 'told', prompt: 'Mend it.', source, files });
};

describe('a member', () => {
  it('M1 reads where it is, as one: Task, Dispatch, itself, its Assignment, what it may call', async () => {
    const { task, worker } = await alone();
    const north = worker('north');
    const lease = await north.begin();
    const context = await north.context(lease);
    expect(getCurrentContext.output.parse(context)).toMatchObject({
      task: { id: task, workflow_id: 'told' },
      dispatch: { id: lease.id, attempt_id: expect.stringMatching(/^[0-9a-f-]{36}\.1$/) },
      current_member: {
        id: 'lead',
        title: 'Lead',
        instruction: 'Be brief.',
        position: 'task_lead',
        behavior: 'contributor',
        provider: { kind: 'scripted' },
        effective_capabilities: { human_request: [], command_run: 'allow' },
      },
      assignment: { prompt: 'Mend it.', files: [{ path: 'a.txt', description: 'here' }] },
      continuation: null,
      direct_team: [],
      work_plan: null,
      available_actions: ['get_current_context', 'set_work_plan', 'checkpoint', 'add_child', 'start_command_run'],
      workspace: {
        root: '.',
        task_directory: `.longshore/${task}`,
        notes: `.longshore/${task}/notes/lead`,
        artifacts: `.longshore/${task}/artifacts/lead`,
        workflow_note: null,
      },
    });
  });

  it('M1 reads the continuation that its Dispatch was opened with, not one made up later', async () => {
    const { worker } = await alone();
    const north = worker('north');
    const first = await north.begin();
    await north.complete(first, 'crashed');
    const second = await north.begin();
    expect((await north.context(second)).continuation).toMatchObject({
      kind: 'watchdog_recovery',
      source_dispatch: first.id,
      recovery_count: 1,
    });
  });

  it('M2 sets, keeps and clears its plan; the same again is no fact, and the plan outlives the Dispatch', async () => {
    const { task, worker } = await alone();
    const north = worker('north');
    const lease = await north.begin();
    const steps = [{ step: 'Look', status: 'in_progress' as const }];
    expect(await north.plan(lease, steps)).toEqual({ changed: true, plan: { steps } });
    expect(await north.plan(lease, steps)).toEqual({ changed: false, plan: { steps } });
    expect((await farm.view(task)).team[0]?.plan).toEqual({ steps });
    await north.complete(lease, 'drained');
    const next = await north.begin();
    expect((await north.context(next)).work_plan).toEqual({ steps });
    expect(await north.plan(next, [])).toEqual({ changed: true, plan: null });
    expect(await north.plan(next, [])).toEqual({ changed: false, plan: null });
    const types = await farm.eventTypes(task);
    expect(types.filter((type) => type.startsWith('work_plan'))).toEqual(['work_plan_set', 'work_plan_cleared']);
  });

  it('M3 reports progress at once, and goes on', async () => {
    const { task, worker } = await alone();
    const north = worker('north');
    const lease = await north.begin();
    const said = await north.checkpoint(lease, { summary: 'Half way' });
    expect(said).toMatchObject({ terminal: false, must_stop: false, checkpoint: { summary: 'Half way' } });
    expect((await farm.view(task)).team[0]).toMatchObject({ latest_update: 'Half way', state: 'working' });
    await north.checkpoint(lease, { summary: 'Half way' });
    expect(await farm.sql(`select count(*) as n from checkpoint where task = '${task}'`)).toEqual([{ n: 2 }]);
  });

  it('H24 is its lease: with another’s, an old or a borrowed one it is nobody', async () => {
    const [{ worker }, other] = [await alone(), await alone()];
    const north = worker('north');
    const lease = await north.begin();
    const theirs = await other.worker('south').begin();
    const stale = { code: 'stale_lease' };
    await expect(worker('south').context(lease)).rejects.toMatchObject(stale);
    await expect(north.rebooted().context(lease)).rejects.toMatchObject(stale);
    await expect(north.context(theirs)).rejects.toMatchObject(stale);
    await expect(north.context({ ...lease, epoch: 2 })).rejects.toMatchObject(stale);
    await expect(north.context({ ...lease, id: randomUUID() })).rejects.toMatchObject(stale);
    await farm.time.pass(leaseTime);
    await expect(north.checkpoint(lease, { summary: 'Late' })).rejects.toMatchObject(stale);
    await expect(north.plan(lease, [])).rejects.toMatchObject(stale);
  });

  it('is told to stop when the team has changed where it stands, and not when it changed elsewhere', async () => {
    const { task, worker } = await alone();
    const north = worker('north');
    const lease = await north.begin();
    const adopt = (basis: string) =>
      farm.sql(`with next as (
        insert into team_revision (id, task, sequence) select gen_random_uuid(), id,
          (select max(sequence) + 1 from team_revision where task = '${task}') from task where id = '${task}' returning id),
      moved as (insert into team_member select next.id, m.member, m.parent, m.position, m.depth, m.config_id, ${basis}, m.configuration, m.origin
        from next, team_member m join task t on t.team_revision = m.revision where t.id = '${task}')
      update task set team_revision = next.id from next where task.id = '${task}'`);
    await adopt('m.basis_id');
    await expect(north.context(lease)).resolves.toBeDefined();
    await adopt('gen_random_uuid()');
    await expect(north.context(lease)).rejects.toMatchObject({ code: 'stale_dispatch' });
    await expect(north.checkpoint(lease, { summary: 'x', outcome: 'green' })).rejects.toMatchObject({
      code: 'stale_dispatch',
    });
  });
});
