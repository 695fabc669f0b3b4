import { statement } from '#store';
import type { TeamFarm } from './team-farm.js';
import { waitUntil } from './wait-until.js';

const lockTask = statement<unknown>('test.lock_task', 'select from task where id = $task for update');

/** So many connections wait for a lock of the farm's database. */
export async function areWaiting(farm: TeamFarm, count: number): Promise<boolean> {
  const rows = await farm.sql(
    `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  );
  return rows.length >= count;
}

/**
 * Two acts on one Task at the same moment, on connections of their own: both wait for its row, the first one in front, and go on
 * when it is free.
 */
export async function inTurn(
  farm: TeamFarm,
  task: string,
  one: () => Promise<unknown>,
  two: () => Promise<unknown>,
): Promise<readonly [PromiseSettledResult<unknown>, PromiseSettledResult<unknown>]> {
  const both = await farm.tx(async (tx) => {
    await tx.run(lockTask, { task });
    const first = one();
    await waitUntil(() => areWaiting(farm, 1), { what: 'the first waits for the Task' });
    const second = two();
    await waitUntil(() => areWaiting(farm, 2), { what: 'the second waits behind it' });
    return { outcomes: Promise.allSettled([first, second]) };
  });
  return both.outcomes;
}
