import { randomUUID } from 'node:crypto';
import type { Claimer } from '#jobs';
import type { Random } from './random.js';
import { Violation, type World } from './world.js';

/** Jobs of one key that are served while all keys wait: enough that 10 % of them is more than one turn. */
const turns = 24;

/**
 * Keys of one weight before one machine, their jobs queued in any order and ended after any time: while all of them wait, each gets
 * its share within 10 % (A12.20). Tasks are such keys.
 */
export async function competeFairly(world: World, random: Random): Promise<void> {
  const keys = Array.from({ length: random.int(2, 4) }, (_, n) => `key-${n}`);
  const pool = 'fair';
  const { queue, database } = world.controller(random);
  const queued = random.shuffled(keys.flatMap((key) => Array.from({ length: turns * 2 }, () => key)));
  await database.transaction(async (tx) => {
    for (const key of queued)
      await queue.submit(tx, { id: randomUUID(), kind: 'fair', pool, fairness_key: key, payload: { key } });
  });
  const claimer: Claimer = {
    worker: 'even',
    boot: randomUUID(),
    pool,
    labels: [],
    accounts: [],
    slots: random.int(1, 5),
  };
  const served = new Map(keys.map((key) => [key, 0]));
  const held: { readonly id: string; readonly epoch: number; readonly lease_id: string }[] = [];
  const claim = async () => {
    const at = world.controller(random);
    const request = { request_id: random.uuid(), limit: random.int(1, 3) };
    const jobs = await at.database.transaction((tx) => at.queue.claim(tx, claimer, request));
    for (const job of jobs) {
      const { payload } = job;
      const key = typeof payload === 'object' && payload !== null && 'key' in payload ? String(payload.key) : '';
      served.set(key, (served.get(key) ?? 0) + 1);
      held.push(job);
    }
  };
  while ([...served.values()].reduce((sum, each) => sum + each, 0) < turns * keys.length) {
    await claim();
    const [lease] = held.splice(random.int(0, Math.max(0, held.length - 1)), 1);
    if (!lease) continue;
    const fence = { job_id: lease.id, epoch: lease.epoch, lease_id: lease.lease_id };
    const end = { holder: claimer, fence, end: { ended: 'done' as const, result: null } };
    await database.transaction((tx) => queue.completeTogether(tx, [end]));
  }
  world.tally.count('asked of calls', 'A12.20');
  const shares = [...served.values()];
  const most = Math.max(...shares);
  if (most - Math.min(...shares) > Math.ceil(most / 10))
    throw new Violation('A12.20', 'keys of one weight get the same share within 10 %', JSON.stringify([...served]));
}
