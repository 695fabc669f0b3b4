import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aTeamFarm, patience, type TeamFarm } from '../../../../test/support/team-farm.js';
import { withClient } from '../../../../test/support/test-run.js';
import { taskSql } from '../sql/teams.js';

let farm: TeamFarm;
beforeAll(async () => {
  farm = await aTeamFarm();
  await farm.workflow();
});
afterAll(() => farm.close());

const brokenOf = (task: string) => farm.database.first(taskSql.brokenEvent, { task });
const read = (task: string, after = 0, limit = 500) =>
  farm.database.reading((tx) => farm.teams.tasks.events(tx, { task_id: task, after, limit, wait_seconds: 0 }));

describe('the record of a Task', () => {
  it('I19 has numbers without gaps and a chain that names what was altered, whoever writes at once', async () => {
    const { task, worker } = await farm.alone();
    const north = worker('north');
    const lease = await north.begin();
    await Promise.all(
      Array.from({ length: 12 }, (_, n) => north.plan(lease, [{ step: `Step ${n}`, status: 'pending' }])),
    );
    const { events } = await read(task);
    expect(events.map((event) => event.seq)).toEqual(events.map((_, n) => n + 1));
    expect(events.length).toBe(16);
    expect(await brokenOf(task)).toBeUndefined();

    const alter = (sql: string) => withClient(farm.ownerUrl, (owner) => owner.query(sql));
    await alter(`update task_event set payload = payload || '{"forged":true}' where task = '${task}' and seq = 7`);
    expect(await brokenOf(task)).toEqual({ seq: 7 });
    await alter(`update task_event set payload = payload - 'forged' where task = '${task}' and seq = 7`);
    expect(await brokenOf(task)).toBeUndefined();
    await alter(`delete from task_event where task = '${task}' and seq = 3`);
    expect(await brokenOf(task)).toEqual({ seq: 4 });
  });

  it('I19 can not be rewritten by a controller', async () => {
    const task = await farm.start();
    await expect(farm.sql(`update task_event set type = 'x' where task = '${task}'`)).rejects.toThrow(
      'permission denied',
    );
    await expect(farm.sql(`delete from task_event where task = '${task}'`)).rejects.toThrow('permission denied');
  });

  it('is read from any place, and rings after each commit and not before', async () => {
    farm.rings.length = 0;
    const { task } = await farm.alone();
    expect(farm.rings.filter((subject) => subject === `bell.task.${task}`)).toHaveLength(3);
    expect((await read(task, 1, 1)).events).toMatchObject([{ seq: 2, type: 'task_prepared' }]);
    await expect(read('t_nosuch00')).rejects.toMatchObject({ code: 'not_found' });
  });

  it('lets a reader wait for what is new, and wakes it by a ring', async () => {
    const task = await farm.start();
    const input = { task_id: task, after: 1, limit: 100, wait_seconds: 20 };
    let woken = false;
    const waiting = farm.teams.tasks.waitForNews(input, new AbortController().signal).then(() => {
      woken = true;
    });
    expect(woken).toBe(false);
    await farm.teams.sweeps.prepareTasks(patience);
    await waiting;
    expect((await read(task, 1)).events).toMatchObject([{ type: 'task_prepared' }, { type: 'dispatch_opened' }]);
  });

  it('lets a reader go when it has gone itself', async () => {
    const task = await farm.start();
    const gone = new AbortController();
    const waiting = farm.teams.tasks.waitForNews({ task_id: task, after: 1, limit: 1, wait_seconds: 20 }, gone.signal);
    gone.abort();
    await expect(waiting).resolves.toBeUndefined();
  });
});
