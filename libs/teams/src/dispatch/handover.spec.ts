import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aTeamFarm, leaseTime, payloadOf, type TeamFarm } from '../../../../test/support/team-farm.js';

let farm: TeamFarm;
beforeAll(async () => {
  farm = await aTeamFarm();
  await farm.workflow();
});
afterAll(() => farm.close());

const green = { summary: 'It is done', outcome: 'green' } as const;

async function written(task: string) {
  const [row] = await farm.sql<{ checkpoints: number; handovers: number; closed: number; dispatches: number }>(`select
    (select count(*) from checkpoint where task = '${task}') as checkpoints,
    (select count(*) from handover h join dispatch d on d.id = h.dispatch where d.task = '${task}') as handovers,
    (select count(*) from dispatch where task = '${task}' and closed_at is not null) as closed,
    (select count(*) from dispatch where task = '${task}') as dispatches`);
  return row;
}
const nothing = { checkpoints: 0, handovers: 0, closed: 0, dispatches: 1 };
const lineOf = async (task: string) =>
  (
    await farm.sql<{ line_base: string; line_head: string }>(
      `select line_base, line_head from assignment where task = '${task}'`,
    )
  )[0];

describe('a handover', () => {
  it('H1 D2 writes no row but its receipt until the work has arrived, then everything at once', async () => {
    const { task, worker } = await farm.alone();
    const north = worker('north');
    const lease = await north.begin();
    const events = await farm.eventTypes(task);
    const callId = randomUUID();
    const said = await north.checkpoint(lease, green, callId);
    expect(said).toMatchObject({ terminal: true, must_stop: true, checkpoint: green });
    expect(await written(task)).toEqual(nothing);
    expect(await farm.eventTypes(task)).toEqual(events);
    expect(
      await farm.sql(`select 1 from receipt where caller = '${lease.id}' and operation = 'handover'`),
    ).toHaveLength(1);

    const work = await north.work(lease, { 'done.txt': 'yes\n' });
    expect(await north.upload(lease, work)).toBe('accepted');
    expect(await written(task)).toEqual(nothing);
    const end = { handover: { call_id: callId }, commit: work.commit };
    expect(await north.complete(lease, 'handover', end)).toEqual({ state: 'done', kept: true });
    expect(await written(task)).toEqual({ checkpoints: 1, handovers: 1, closed: 1, dispatches: 1 });
    expect(await lineOf(task)).toMatchObject({ line_head: work.commit });
    const [checkpoint] = await farm.sql(`select id, outcome from checkpoint where task = '${task}'`);
    expect(checkpoint).toEqual({ id: said.checkpoint.id, outcome: 'green' });
  });

  it('H1 is void when its machine dies before the work arrived; done again, there is exactly one of each', async () => {
    const { task, worker } = await farm.alone();
    const [north, south] = [worker('north'), worker('south')];
    const lost = await north.begin();
    const callId = randomUUID();
    await north.checkpoint(lost, green, callId);
    await farm.time.pass(leaseTime);
    await farm.queue.sweep();
    expect(await written(task)).toEqual(nothing);

    const lease = await south.begin();
    expect(lease).toMatchObject({ id: lost.id, epoch: 2 });
    // What was handed over at the first epoch ends nothing at the second.
    await expect(south.complete(lease, 'handover', { handover: { call_id: callId } })).rejects.toMatchObject({
      code: 'handover_refused',
    });
    await expect(north.complete(lost, 'handover', { handover: { call_id: callId } })).rejects.toMatchObject({
      code: 'stale_lease',
    });
    await south.handOver(lease, green);
    expect(await written(task)).toEqual({ checkpoints: 1, handovers: 1, closed: 1, dispatches: 1 });
  });

  it('D2 I5 is the first that was delivered: said again it is answered again, another one and all else is refused', async () => {
    const { worker } = await farm.alone();
    const north = worker('north');
    const lease = await north.begin();
    const [first, again] = [randomUUID(), randomUUID()];
    const said = await north.checkpoint(lease, green, first);
    expect(await north.checkpoint(lease, green, again)).toEqual(said);
    await expect(north.checkpoint(lease, { ...green, summary: 'Other' })).rejects.toMatchObject({
      code: 'illegal_state',
    });
    await expect(north.checkpoint(lease, { summary: 'Progress' })).rejects.toMatchObject({ code: 'stale_dispatch' });
    await expect(north.plan(lease, [])).rejects.toMatchObject({ code: 'stale_dispatch' });
    await expect(north.context(lease)).rejects.toMatchObject({ code: 'stale_dispatch' });
    // Both calls said the same handover, so either ends the Dispatch; a third did not.
    await expect(north.complete(lease, 'handover', { handover: { call_id: randomUUID() } })).rejects.toMatchObject({
      code: 'handover_refused',
    });
    await expect(north.complete(lease, 'handover', { handover: { call_id: again } })).resolves.toMatchObject({
      kept: true,
    });
  });

  it('R1 D2 stands when another comes at the same moment, and one of the two is refused', async () => {
    const { task, worker } = await farm.alone();
    const north = worker('north');
    const lease = await north.begin();
    const bodies = ['one', 'two', 'three', 'four'].map((summary) => ({ summary, outcome: 'green' as const }));
    const said = await Promise.allSettled(bodies.map((body) => north.checkpoint(lease, body)));
    expect(said.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(1);
    for (const outcome of said) {
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'illegal_state' });
    }
    expect(await written(task)).toEqual(nothing);
  });

  it('D11 H1 stays valid when the same session goes on at the next epoch', async () => {
    const { task, worker } = await farm.alone();
    const north = worker('north');
    const lease = await north.begin();
    const callId = randomUUID();
    await north.checkpoint(lease, green, callId);
    await farm.time.pass(leaseTime);
    await farm.queue.sweep();
    const next = await north.claim([{ job_id: lease.id, lease_id: lease.lease_id }]);
    expect(next).toMatchObject({ id: lease.id, epoch: 2, continues: true });
    await expect(north.plan(next, [])).rejects.toMatchObject({ code: 'stale_dispatch' });
    expect(await farm.sql(`select recoveries from assignment where task = '${task}'`)).toEqual([{ recoveries: 0 }]);
    await north.complete(next, 'handover', { handover: { call_id: callId } });
    expect(await written(task)).toEqual({ checkpoints: 1, handovers: 1, closed: 1, dispatches: 1 });
  });

  it('D1 I22 changes nothing when a file that it names is not in the captured work, and leaves room for a better one', async () => {
    const { task, worker } = await farm.alone();
    const north = worker('north');
    const lease = await north.begin();
    const work = await north.work(lease, {
      'real.txt': 'x',
      'folder/inner.txt': 'y',
      link: { link: 'real.txt' },
      away: { link: 'folder' },
    });
    await north.upload(lease, work);
    for (const path of ['missing.txt', 'folder', 'link', 'away/inner.txt']) {
      const callId = randomUUID();
      await north.checkpoint(lease, { ...green, files: [{ path }] }, callId);
      const end = { handover: { call_id: callId }, commit: work.commit };
      await expect(north.complete(lease, 'handover', end)).rejects.toMatchObject({
        code: 'handover_refused',
        detail: expect.stringContaining('invalid_task_path'),
      });
      expect(await written(task)).toEqual(nothing);
      expect(await lineOf(task)).toMatchObject({ line_head: payloadOf(lease).base });
    }
    const callId = randomUUID();
    await north.checkpoint(lease, { ...green, files: [{ path: 'real.txt' }, { path: 'folder/inner.txt' }] }, callId);
    await north.complete(lease, 'handover', { handover: { call_id: callId }, commit: work.commit });
    expect(await written(task)).toEqual({ checkpoints: 1, handovers: 1, closed: 1, dispatches: 1 });
  });

  it('I8 D1 is green only with a green of each direct child, asked at the call and again when the work has arrived', async () => {
    const { task, worker } = await farm.alone();
    const north = worker('north');
    const lease = await north.begin();
    const callId = randomUUID();
    await north.checkpoint(lease, green, callId);
    // Between the call and the work a child has come into being.
    await farm.sql(`insert into team_member (revision, member, parent, position, depth, config_id, basis_id, configuration, origin)
      select team_revision, 'helper', 'lead', 0, 2, gen_random_uuid(), gen_random_uuid(), '{"id":"helper"}', 'authored'
      from task where id = '${task}'`);
    await expect(north.complete(lease, 'handover', { handover: { call_id: callId } })).rejects.toMatchObject({
      code: 'handover_refused',
      detail: expect.stringContaining('helper'),
    });
    expect(await written(task)).toEqual(nothing);
    await expect(north.checkpoint(lease, green)).rejects.toMatchObject({ code: 'boundary_precondition_failed' });
    await expect(north.handOver(lease, { ...green, outcome: 'blocked' })).resolves.toMatchObject({ kept: true });
    expect(await farm.view(task)).toMatchObject({
      status: 'completed',
      product_status: 'blocked',
      result: { outcome: 'blocked' },
    });
  });

  it('H20 names what the repository ignores, when the worker took it along, and is refused by name when it did not', async () => {
    const { task, worker } = await farm.alone();
    const north = worker('north');
    const lease = await north.begin();
    const files = { '.gitignore': 'dist/\n', 'dist/report.md': 'r\n' };
    const [without, along] = [await north.work(lease, files), await north.work(lease, files, ['dist/report.md'])];
    const body = { ...green, files: [{ path: 'dist/report.md' }] };
    for (const work of [without, along]) await north.upload(lease, work);
    const end = (callId: string, commit: string) => ({ handover: { call_id: callId }, commit });
    const [first, second] = [randomUUID(), randomUUID()];
    await north.checkpoint(lease, body, first);
    await expect(north.complete(lease, 'handover', end(first, without.commit))).rejects.toMatchObject({
      code: 'handover_refused',
    });
    await north.checkpoint(lease, body, second);
    await north.complete(lease, 'handover', end(second, along.commit));
    expect((await farm.view(task)).result).toMatchObject({ commit: along.commit, files: [{ path: 'dist/report.md' }] });
  });

  it('D20 moves the line only from where the Dispatch had begun', async () => {
    const { task, worker } = await farm.alone();
    const north = worker('north');
    const lease = await north.begin();
    const work = await north.work(lease, { 'a.txt': 'a\n' });
    await north.upload(lease, work);
    await farm.sql(`update assignment set line_head = '${'0'.repeat(40)}' where task = '${task}'`);
    await expect(north.complete(lease, 'drained', { commit: work.commit })).rejects.toMatchObject({ code: 'conflict' });
    expect(await written(task)).toEqual(nothing);
  });

  it('D6 never ends silent or crashed once it was kept', async () => {
    const { worker } = await farm.alone();
    const north = worker('north');
    const lease = await north.begin();
    await north.checkpoint(lease, green);
    await expect(north.complete(lease, 'silent')).rejects.toMatchObject({ code: 'conflict' });
    await expect(north.complete(lease, 'crashed')).rejects.toMatchObject({ code: 'conflict' });
  });

  it('D7 W20 leaves no commit, no branch and the line where it was when nothing changed', async () => {
    const { task, worker } = await farm.alone();
    const north = worker('north');
    await north.handOver(await north.begin(), green);
    const line = await lineOf(task);
    expect(line?.line_head).toBe(line?.line_base);
    expect((await farm.view(task)).result).toMatchObject({
      branch: null,
      commit: null,
      files_changed: [],
      files_changed_total: 0,
    });
    await expect(farm.teams.roads.result(task)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('W9 is merged once when job_complete comes twice, and answered the same', async () => {
    const { task, worker } = await farm.alone();
    const north = worker('north');
    const lease = await north.begin();
    const callId = randomUUID();
    await north.checkpoint(lease, green, callId);
    const work = await north.work(lease, { 'a.txt': 'a\n' });
    await north.upload(lease, work);
    const end = { handover: { call_id: callId }, commit: work.commit };
    const first = await north.complete(lease, 'handover', end);
    const events = await farm.eventTypes(task);
    expect(await north.complete(lease, 'handover', end)).toEqual(first);
    expect(await north.upload(lease, work)).toBe('rescue');
    expect(await farm.eventTypes(task)).toEqual(events);
    const view = await farm.view(task);
    expect(view.rescues).toEqual([]);
    expect(view.result).toMatchObject({ branch: `longshore/${task}`, commit: work.commit, files_changed_total: 1 });
  });

  it('P1 I19 commits state, event and line together or not at all', async () => {
    const { task, worker } = await farm.alone();
    const north = worker('north');
    const lease = await north.begin();
    const callId = randomUUID();
    await north.checkpoint(lease, green, callId);
    const work = await north.work(lease, { 'a.txt': 'a\n' });
    await north.upload(lease, work);
    const end = { handover: { call_id: callId }, commit: work.commit };
    const { mend } = await farm.breakAt(task, 'boundary_accepted');
    await expect(north.complete(lease, 'handover', end)).rejects.toThrow();
    expect(await written(task)).toEqual(nothing);
    expect(await farm.queue.find(farm.database, lease.id)).toMatchObject({ state: 'leased', epoch: 1 });
    await mend();
    await north.complete(lease, 'handover', end);
    expect(await farm.view(task)).toMatchObject({ status: 'completed', result: { commit: work.commit } });
    expect(await farm.eventTypes(task)).toEqual([
      'task_started',
      'task_prepared',
      'dispatch_opened',
      'dispatch_start_updated',
      'checkpoint_recorded',
      'boundary_accepted',
    ]);
  });

  it('D12 R22 may come before the started beat: the call counts as it', async () => {
    const { task, worker } = await farm.alone();
    const north = worker('north');
    const lease = await north.claim();
    expect((await farm.view(task)).product_status).toBe('starting');
    await north.plan(lease, [{ step: 'Look', status: 'in_progress' }]);
    expect((await farm.view(task)).product_status).toBe('working');
    await north.handOver(lease, green);
    expect((await farm.view(task)).product_status).toBe('completed');
  });

  it('H5 D20 names a commit that came under this very lease, or is refused', async () => {
    const [mine, other] = [await farm.alone(), await farm.alone()];
    const [north, south] = [mine.worker('north'), other.worker('south')];
    const [lease, theirs] = [await north.begin(), await south.begin()];
    const work = await south.work(theirs, { 'theirs.txt': 'x\n' });
    await south.upload(theirs, work);
    const callId = randomUUID();
    await north.checkpoint(lease, green, callId);
    const end = { handover: { call_id: callId }, commit: work.commit };
    await expect(north.complete(lease, 'handover', end)).rejects.toMatchObject({ code: 'commit_refused' });
    expect(await written(mine.task)).toEqual(nothing);
  });
});
