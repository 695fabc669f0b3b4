import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CommandId, limits, newCommandId, newTaskId, TaskId } from '#contracts';
import { aTeamFarm, type TeamFarm } from '../../../test/support/team-farm.js';

/** What is drawn next; by chance when nothing is left. */
const tasks: string[] = [];
const commands: string[] = [];
let farm: TeamFarm;
beforeAll(async () => {
  farm = await aTeamFarm({
    drawTaskId: () => tasks.shift() ?? newTaskId(),
    drawCommandId: () => commands.shift() ?? newCommandId(),
  });
  await farm.workflow('solo', { capabilities: { command_run: 'allow' } });
});
afterAll(() => farm.close());

const again = (id: string, count: number) => Array.from({ length: count }, () => id);

describe('an id of a Task or of a command', () => {
  it('N9 is a letter and eight characters of Crockford’s alphabet, 40 bits by chance', () => {
    for (const [draw, schema] of [
      [newTaskId, TaskId],
      [newCommandId, CommandId],
    ] as const) {
      const ids = Array.from({ length: 2_000 }, draw);
      for (const id of ids) expect(schema.safeParse(id).success).toBe(true);
      expect(new Set(ids).size).toBe(ids.length);
      for (const place of [0, 7]) expect(new Set(ids.map((id) => id.slice(2)[place])).size).toBe(32);
    }
    for (const wrong of ['t_0123456', 't_012345678', 't_0123456i', 't_0123456L', 'c_01234567', 't01234567'])
      expect(TaskId.safeParse(wrong).success).toBe(false);
  });

  it('N9 that is another Task’s is drawn again, 128 times and no more', async () => {
    expect(limits.idTries).toBe(128);
    const there = await farm.start();
    tasks.push(...again(there, limits.idTries - 1));
    const last = await farm.start();
    expect(last).not.toBe(there);
    expect(tasks).toEqual([]);
    tasks.push(...again(there, limits.idTries));
    await expect(farm.start()).rejects.toMatchObject({ code: 'unavailable' });
    expect(tasks).toEqual([]);
  });

  it('N9 is one Task’s of two that draw it at the same moment', async () => {
    const id = newTaskId();
    tasks.push(id, id);
    const started = await Promise.all([farm.start(), farm.start()]);
    expect(started).toContain(id);
    expect(new Set(started).size).toBe(2);
  });

  it('N9 that another command of the farm has is drawn again', async () => {
    const run = async (): Promise<string> => {
      const { worker } = await farm.alone();
      const north = worker('north');
      const lease = await north.begin();
      let name = '';
      await north.handOverBy(lease, async (callId) => {
        const request = { command: { kind: 'shell' as const, command: 'true' }, summary: 'Look' };
        name = (await north.run(lease, request, callId)).command_id;
      });
      return name;
    };
    const there = await run();
    commands.push(there, there);
    expect(await run()).not.toBe(there);
    expect(commands).toEqual([]);
  });
});
