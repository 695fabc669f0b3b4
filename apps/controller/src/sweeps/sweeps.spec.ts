import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, openDatabase, statement } from '#store';
import { aDatabase } from '../../../../test/support/database.js';
import { FrontDoor } from './front-door.js';
import { Loop } from './loop.js';
import { tick } from './tick.js';

describe('farm time', () => {
  let database: Database;
  let owner: Database;
  beforeAll(async () => {
    const copy = await aDatabase();
    database = openDatabase({ url: copy.appUrl, max: 2 });
    owner = openDatabase({ url: copy.ownerUrl, max: 1 });
  });
  afterAll(async () => {
    await database.close();
    await owner.close();
  });

  it('D25 moves while the door listens and has answered a worker in the last ten seconds, or no lease could be lost', async () => {
    let now = 0;
    let leased = 1;
    const door = new FrontDoor(() => now);
    const queue = { leasedByMachines: async () => leased };
    const readClock = statement<{ at: Date }>('test.clock', 'select ticked_at as at from farm_clock');
    const moved = async (): Promise<boolean> => {
      await owner.run(
        statement('test.old_tick', `update farm_clock set ticked_at = clock_timestamp() - interval '2 s'`),
      );
      const before = await owner.first(readClock);
      await tick({ database, queue, door });
      return (await owner.first(readClock))?.at.getTime() !== before?.at.getTime();
    };

    door.answered();
    expect(await moved()).toBe(false);
    door.opened();
    expect(await moved()).toBe(true);
    now += 10_000;
    expect(await moved()).toBe(true);
    now += 1;
    expect(await moved()).toBe(false);
    leased = 0;
    expect(await moved()).toBe(true);
    door.closed();
    expect(await moved()).toBe(false);
  });
});

describe('a loop', () => {
  it('looks again at once when it was rung meanwhile, goes on after a fault, and stops after its look', async () => {
    const faults: unknown[] = [];
    let looks = 0;
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let third = () => {};
    const looked = new Promise<void>((resolve) => {
      third = resolve;
    });
    const loop = new Loop({
      name: 'test',
      everyMs: 3_600_000,
      onFault: (error) => faults.push(error),
      async look() {
        looks += 1;
        if (looks === 1) await held;
        if (looks === 2) {
          queueMicrotask(() => loop.ring());
          throw new Error('once');
        }
        if (looks === 3) third();
      },
    });
    loop.ring();
    release();
    await looked;
    await loop.stop();
    expect([looks, faults.length]).toEqual([3, 1]);
  });
});
