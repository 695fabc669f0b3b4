import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { aDatabase } from '../../../test/support/database.js';
import { type Database, openDatabase } from './database.js';
import { beginGeneration, readFarm, tickFarmClock } from './farm-clock.js';
import { statement } from './statement.js';

const sql = {
  /** The database's clock went on by so many seconds since the last tick: only the difference counts. */
  lastTick: statement<unknown>(
    'spec.last_tick',
    'update farm_clock set ticked_at = clock_timestamp() - make_interval(secs => $seconds)',
  ),
  /** As after an hour without a controller. */
  setBack: statement<unknown>('spec.set_back', "update farm_clock set farm_at = farm_at - interval '1 hour'"),
  setForth: statement<unknown>('spec.set_forth', "update farm_clock set farm_at = farm_at + interval '1 hour'"),
  read: statement<{ farm: number; reading: number; wall: number }>(
    'spec.read',
    `select extract(epoch from farm_at)::float8 as farm, extract(epoch from (select farm_now()))::float8 as reading,
       extract(epoch from clock_timestamp())::float8 as wall
     from farm_clock`,
  ),
};

let database: Database;
beforeAll(async () => {
  database = openDatabase({ url: (await aDatabase()).ownerUrl, max: 8 });
});
afterAll(() => database.close());

async function clock(): Promise<{ farm: number; reading: number; wall: number }> {
  const row = await database.first(sql.read);
  if (!row) throw new Error('no clock');
  return row;
}

const lastTick = (seconds: number) => database.run(sql.lastTick, { seconds });

describe('farm time', () => {
  beforeEach(() => lastTick(0));

  it('D25 stands still three seconds after the last tick, however long the farm is down', async () => {
    await lastTick(2);
    const young = await clock();
    expect(young.reading - young.farm).toBeGreaterThanOrEqual(2);
    expect(await readFarm(database)).toMatchObject({ ticking: true });
    await lastTick(86_400);
    const old = await clock();
    expect(old.reading - old.farm).toBeCloseTo(3, 3);
    expect(await readFarm(database)).toMatchObject({ ticking: false });
    await database.run(sql.setBack);
    expect((await readFarm(database)).behindMs).toBeGreaterThan(3_000_000);
    await database.run(sql.setForth);
  });

  it('D25 moves by nothing when the host of the database is set back an hour, by three seconds when it is set ahead', async () => {
    const before = await clock();
    await lastTick(-3600);
    expect((await clock()).reading).toBeCloseTo(before.farm, 3);
    await tickFarmClock(database);
    expect((await clock()).farm).toBeCloseTo(before.farm, 3);

    await lastTick(3600);
    await tickFarmClock(database);
    expect((await clock()).farm - before.farm).toBeCloseTo(3, 1);
  });

  it('gains nothing when many controllers tick at once', async () => {
    const before = await clock();
    await lastTick(2);
    await Promise.all(Array.from({ length: 64 }, () => tickFarmClock(database)));
    const after = await clock();
    const gained = after.farm - before.farm;
    expect(gained).toBeGreaterThanOrEqual(2);
    // What the wall shows since, and the two seconds: the 64 that stood in line added nothing of theirs.
    expect(gained).toBeLessThanOrEqual(2 + after.wall - before.wall);
  });

  it('begins a new generation only when no controller has ticked for five seconds', async () => {
    const { generation } = await readFarm(database);
    await beginGeneration(database);
    expect((await readFarm(database)).generation).toBe(generation);
    await lastTick(6);
    await beginGeneration(database);
    expect((await readFarm(database)).generation).toBe(generation + 1);
  });
});
