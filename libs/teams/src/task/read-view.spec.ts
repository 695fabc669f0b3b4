import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TaskView, taskSearch } from '#contracts';
import { aTeamFarm, patience, person, type TeamFarm } from '../../../../test/support/team-farm.js';

let farm: TeamFarm;
beforeAll(async () => {
  farm = await aTeamFarm();
  await farm.workflow('solo', { title: 'Ada' });
});
afterAll(() => farm.close());

const search = (input: Record<string, unknown>) =>
  farm.database.reading((tx) => farm.teams.tasks.search(tx, taskSearch.input.parse(input)));

describe('the view of a Task', () => {
  it('O11 I7 I24 shows status, team, what happened and the Result, without ids of Dispatches and Assignments', async () => {
    const { task, worker } = await farm.alone({ title: 'Mend', prompt: 'x'.repeat(2_000) });
    const north = worker('north');
    const first = await north.begin();
    await north.complete(first, 'crashed', {
      usage: { requests: 1, input_tokens: 1, output_tokens: 1, cost_usd: 0.5 },
    });
    await north.handOver(await north.begin(), { summary: 'Anew', outcome: 'retry' });
    const lease = await north.begin();
    const usage = { requests: 3, input_tokens: 10, output_tokens: 20 };
    const work = await north.work(lease, { 'report.md': 'r\n', 'lib/b.bin': Buffer.from([0, 1, 2]) }, ['report.md']);
    await north.upload(lease, work);
    const callId = crypto.randomUUID();
    const body = { summary: 'Mended', details: 'By hand', files: [{ path: 'report.md' }], outcome: 'green' as const };
    await north.checkpoint(lease, body, callId);
    await north.complete(lease, 'handover', { handover: { call_id: callId }, commit: work.commit, usage });

    const view = await farm.view(task);
    expect(view).toMatchObject({
      title: 'Mend',
      status: 'completed',
      product_status: 'completed',
      team: [{ member_id: 'lead', name: 'Ada', state: 'done', latest_update: 'Mended' }],
      attention: [],
      actions: [],
      rescues: [],
      result: {
        outcome: 'green',
        summary: 'Mended',
        details: 'By hand',
        files: [{ path: 'report.md' }],
        branch: `longshore/${task}`,
        commit: work.commit,
        usage: { requests: 4, input_tokens: 11, output_tokens: 21, cost_usd: 0.5 },
        files_changed_total: 2,
        files_changed: [
          { path: 'lib/b.bin', status: 'added', additions: null, deletions: null },
          { path: 'report.md', status: 'added', additions: 1, deletions: 0 },
        ],
      },
      activities: [
        { kind: 'task_completed', member: { id: 'lead', name: 'Ada' }, outcome: 'completed', summary: null, files: [] },
        { kind: 'task_started' },
      ],
    });
    expect(view.prompt_excerpt).toHaveLength(512);
    const [assignment] = await farm.sql<{ id: string }>(`select id from assignment where task = '${task}'`);
    const text = JSON.stringify(view);
    for (const id of [lease.id, first.id, assignment?.id ?? '?']) expect(text).not.toContain(id);
  });

  it('asks for people when the root is blocked', async () => {
    const { task, worker } = await farm.alone();
    const north = worker('north');
    await north.handOver(await north.begin(), { summary: 'No key', outcome: 'blocked' });
    expect(await farm.view(task)).toMatchObject({
      product_status: 'blocked',
      attention: [{ kind: 'blocked_result', summary: 'No key' }],
      team: [{ state: 'blocked' }],
      activities: [{ kind: 'task_blocked' }, { kind: 'task_started' }],
    });
  });

  it('is not found for a Task that does not exist', async () => {
    await expect(farm.view('t_00000000')).rejects.toMatchObject({ code: 'not_found' });
  });

  it('O10 finds Tasks by words and by what people see, newest first, page by page', async () => {
    const ids: string[] = [];
    for (const n of [1, 2, 3]) ids.unshift(await farm.start({ title: `Searched ${n}`, pool: 'nobody' }));
    const first = await search({ query: 'SEARCHED', limit: 2 });
    expect(first.items.map((item) => item.task_id)).toEqual(ids.slice(0, 2));
    await farm.start({ title: 'Searched 4', pool: 'nobody' });
    const second = await search({ query: 'searched', limit: 2, cursor: first.next_cursor });
    expect(second).toMatchObject({ items: [{ task_id: ids[2], product_status: 'preparing' }], next_cursor: null });
    await farm.teams.sweeps.prepareTasks(patience);
    expect((await search({ query: 'searched', status: 'starting' })).items).toHaveLength(4);
    expect((await search({ query: 'searched', status: 'working' })).items).toHaveLength(0);
    expect((await search({ status: 'blocked' })).items).toHaveLength(1);
    for (const other of [
      { cursor: 'eA' },
      { cursor: first.next_cursor },
      { query: 'other', cursor: first.next_cursor },
    ])
      await expect(search(other)).rejects.toMatchObject({ code: 'cursor_reset_required' });
  });

  it('says which machine is missing, and no more when one is there', async () => {
    const task = await farm.task({ pool: 'gpu', labels: ['cuda'] });
    const machine = { worker: 'w_00000001', pool: 'gpu', labels: [] as string[], accounts: [] };
    const others = [{ ...machine, pool: 'nobody', worker: 'w_00000002' }];
    const attention = async () => (await farm.view(task)).attention;
    await farm.teams.sweeps.noteMissingMachines(others);
    expect(await attention()).toMatchObject([{ kind: 'no_machine', summary: expect.stringContaining('pool gpu') }]);
    await farm.teams.sweeps.noteMissingMachines([...others, machine]);
    expect(await attention()).toMatchObject([{ summary: expect.stringContaining('cuda') }]);
    await farm.teams.sweeps.noteMissingMachines([...others, { ...machine, labels: ['cuda'] }]);
    expect(await attention()).toEqual([]);
  });

  it('I7 shows the files of a Result also to who looked while the Task was completing', async () => {
    const { task, worker } = await farm.alone();
    const early = await farm.teams.tasks.prepareView({ task_id: task });
    const north = worker('north');
    await north.handOver(await north.begin(), { summary: 'Done', outcome: 'green' }, { 'new.txt': 'new\n' });
    const view = TaskView.parse(
      await farm.database.reading((tx) => farm.teams.tasks.get(tx, { task_id: task }, early)),
    );
    expect(view.result?.files_changed.map(({ path }) => path)).toEqual(['new.txt']);
  });

  it('O13 answers a control with what was done', async () => {
    const task = await farm.task();
    const action = (await farm.view(task)).actions.find(({ kind }) => kind === 'cancel');
    const input = { task_id: task, action_id: action?.id ?? '' };
    const preview = await farm.database.reading((tx) => farm.teams.tasks.previewControl(tx, input));
    expect(preview.changes).toEqual([{ id: task, before: { status: 'running' }, after: { status: 'cancelled' } }]);
    const answer = await farm.tx((tx) => farm.teams.tasks.control(tx, { principal: person }, input));
    expect(answer).toEqual({ kind: 'cancel', status: 'cancelled' });
  });
});
