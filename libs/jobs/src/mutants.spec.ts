import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type LeasedJob, limits } from '#contracts';
import { type Statement, statement, type Transaction } from '#store';
import { aQueueFarm, fenceOf, leaseTime, type QueueFarm, type TestWorker } from '../../../test/support/queue.js';
import type { Rewrite } from '../../../test/support/rewriting.js';
import { aTestKind, lockTestScope, type TestKind } from '../../../test/support/test-kind.js';
import type { NewJob } from './job.js';
import { claimSql } from './sql/claim.js';
import { laneSql } from './sql/lanes.js';
import { leaseSql } from './sql/lease.js';
import { queueSql } from './sql/queue.js';
import { sweepSql } from './sql/sweep.js';

/**
 * One predicate of one statement is taken away, and a promise of the queue breaks: so no predicate stands there for nothing. Each
 * scenario answers whether the promise was broken; as the statement is, it never is.
 */
interface Mutant {
  readonly of: Statement<unknown>;
  /** What is taken away: it must be there. */
  readonly predicate: RegExp;
  /** What stands there instead; `$&` is the predicate, so that its parameters keep their types. */
  readonly instead?: string;
  /** Changes the statement in both runs, to bring a race about. */
  readonly alsoFor?: Rewrite;
  readonly breaks: (world: World) => Promise<boolean>;
}

interface World {
  readonly farm: QueueFarm;
  readonly kind: TestKind;
  readonly queue: QueueFarm['queue'];
  readonly tx: QueueFarm['tx'];
  worker(name: string, what?: Partial<TestWorker['claimer']>): TestWorker;
}

/** In a statement: waits at the gate, and is true. */
const gate = `(select pg_advisory_xact_lock_shared(42)::text = '')`;

/** Of one scope at once. */
const lanes = 2;

let farm: QueueFarm;
let kind: TestKind;
beforeAll(async () => {
  kind = aTestKind();
  farm = await aQueueFarm({ kinds: [{ ...kind, lanes }] });
});
afterAll(() => farm.close());

let mutants = 0;

function rewriteOf(mutant: Mutant | undefined, both: Rewrite | undefined): Rewrite {
  mutants += 1;
  const suffix = `.${mutants}`;
  return (stated) => {
    const changed = both ? both(stated) : stated;
    if (!mutant || stated.name !== mutant.of.name) return { ...changed, name: stated.name + (both ? suffix : '') };
    const text = changed.text.replace(mutant.predicate, mutant.instead ?? '($& or true)');
    expect(text).not.toBe(changed.text);
    return { ...changed, name: stated.name + suffix, text };
  };
}

async function isBroken(mutant: Mutant, mutated: boolean): Promise<boolean> {
  // A clean queue for each: what another scenario left is no part of this one.
  await farm.sql(
    `update job set state = 'done', awaits_lane = false, lease_expires_at = null where state in ('queued', 'held', 'leased')`,
  );
  await farm.sql('delete from quota');
  await farm.sql('delete from job_class');
  kind.told.length = 0;
  const other = farm.rewritten(rewriteOf(mutated ? mutant : undefined, mutant.alsoFor));
  return mutant.breaks({ farm, kind, ...other });
}

/** The operations that stand behind the fence. Each answers whether it was let through. */
const fenced: Readonly<
  Record<
    string,
    { of: Statement<unknown>; write(world: World, worker: TestWorker, lease: LeasedJob): Promise<boolean> }
  >
> = {
  complete: {
    of: leaseSql.settle,
    async write({ farm, queue, tx: within }, worker, lease) {
      const end = { ended: 'done', result: 'theirs' } as const;
      const job = await farm.job(lease.id);
      return accepted(within((tx) => queue.complete(tx, worker.claimer, fenceOf(lease), end, { job, value: null })));
    },
  },
  'complete together': {
    of: leaseSql.settlePlain,
    async write({ queue, tx: within }, { claimer }, lease) {
      const ending = { holder: claimer, fence: fenceOf(lease), end: { ended: 'done', result: 'theirs' } } as const;
      const [settled] = await within((tx) => queue.completeTogether(tx, [ending]));
      return settled !== undefined;
    },
  },
  fail: { of: leaseSql.held, write: (_, worker, lease) => accepted(worker.fail(lease)) },
  start: { of: leaseSql.held, write: (_, worker, lease) => accepted(worker.started(lease)) },
  beat: { of: leaseSql.beat, write: async (_, worker, lease) => (await worker.beat(lease, 'started')).held },
  acknowledge: {
    of: leaseSql.acknowledge,
    async write({ farm, queue }, worker, lease) {
      await farm.tx((tx) => queue.signal(tx, lease.id, { kind: 'steer', text: 'left' }));
      await worker.beat(lease, 'started', { acks: [{ seq: 1, outcome: 'delivered' }] });
      const [signal] = await queue.signalOutcomes(farm.database, lease.id);
      return signal?.outcome === 'delivered';
    },
  },
};

async function accepted(call: Promise<unknown>): Promise<boolean> {
  return call.then(
    () => true,
    (error: { code?: string }) => {
      if (error.code !== 'stale_lease') throw error;
      return false;
    },
  );
}

/** Who tries with what, when only one part of the fence is wrong. */
const wrong = {
  epoch: {
    predicate: /j\.epoch = (\$\d+|[ab]\.epoch)/,
    with: (lease: LeasedJob) => ({ ...lease, epoch: lease.epoch + 1 }),
  },
  lease_id: {
    predicate: /j\.lease_id = (\$\d+|[ab]\.lease_id)/,
    with: (lease: LeasedJob) => ({ ...lease, lease_id: randomUUID() }),
  },
  holder: { predicate: /j\.holder = (\$\d+|a\.holder)/, as: (boot: string) => ({ worker: 'south', boot }) },
  boot: { predicate: /j\.boot = (\$\d+|a\.boot)/, as: () => ({ worker: 'north', boot: randomUUID() }) },
  expiry: { predicate: /j\.lease_expires_at > \(select (farm_now\(\)|at from clock)\)/, late: true },
} as const;

const fenceMutants = Object.entries(fenced).flatMap(([operation, { of, write }]) =>
  Object.entries(wrong).map(([part, how]): [string, Mutant] => [
    `${part} of ${operation}`,
    {
      of,
      predicate: how.predicate,
      async breaks(world) {
        await world.farm.submit();
        const north = world.worker('north');
        const lease = await north.claimOne();
        if ('late' in how) await world.farm.time.pass(leaseTime);
        const as = 'as' in how ? how.as(north.claimer.boot) : undefined;
        const caller = as ? world.worker(as.worker, { boot: as.boot }) : north;
        return write(world, caller, 'with' in how ? how.with(lease) : lease);
      },
    },
  ]),
);

/** Claims once; broken when it gets anything. */
const gets = async (worker: TestWorker, limit = 16) => (await worker.claim(limit)).length > 0;
/** The same by the short statement alone. */
const getsTogether = async (worker: TestWorker) => ((await worker.claimTogether()) ?? []).length > 0;

/** What both statements of a claim must not give out. */
const notGiven: readonly [string, RegExp, (farm: QueueFarm, worker: World['worker']) => Promise<TestWorker>][] = [
  [
    'the pool',
    /c\.pool = \$\d+/g,
    async (on, worker) => {
      await on.submit({ pool: 'payroll' });
      return worker('north');
    },
  ],
  [
    'the labels',
    /c\.labels <@ \$\d+::text\[\]/g,
    async (on, worker) => {
      await on.submit({ labels: ['host:payroll'] });
      return worker('north', { labels: ['os:linux'] });
    },
  ],
  [
    'the account',
    /c\.account = any\(\$\d+::text\[\]\)/g,
    async (on, worker) => {
      await on.submit({ account: 'work' });
      return worker('north');
    },
  ],
  [
    'the kind',
    /c\.kind = any\(\$\d+::text\[\]\)/g,
    async (on, worker) => {
      await on.submit({ kind: 'dispatch' });
      return worker('agent', { kinds: ['review'] });
    },
  ],
  [
    'the backoff',
    /j\.available_at <= \(select (farm_now\(\)|at from clock)\)/g,
    async (on, worker) => {
      await on.submit({ delay_ms: 1000 });
      return worker('north');
    },
  ],
  [
    'the deadline',
    /j\.deadline is null/g,
    async (on, worker) => {
      await on.submit({ deadline_ms: 1000 });
      await on.time.pass(1000);
      return worker('north');
    },
  ],
  [
    'the exclusion',
    /not \$\d+ = any\(j\.excluded\)/g,
    async (on, worker) => {
      await on.submit();
      const north = worker('north');
      await north.fail(await north.claimOne(), 'environment');
      return north;
    },
  ],
  [
    'the preference',
    /j\.prefer is null/g,
    async (on, worker) => {
      await on.submit({ prefer: { worker: 'warm', ms: 2000 } });
      return worker('cold');
    },
  ],
];
const notGivenMutants = notGiven.flatMap(([what, predicate, prepare]) =>
  [claimSql.claim, claimSql.claimPlain].map((of): [string, Mutant] => [
    `${what} of ${of.name}`,
    {
      of,
      predicate,
      breaks: async ({ farm, worker }) => {
        const asking = await prepare(farm, worker);
        return of === claimSql.claim ? gets(asking) : getsTogether(asking);
      },
    },
  ]),
);

/** The row's own check would refuse it too, and with it every claim that comes upon such a job. */
const laneMutants = [claimSql.claim, claimSql.claimPlain].map((of): [string, Mutant] => [
  `that a lane of ${of.name} is free`,
  {
    of,
    predicate: /not j\.awaits_lane/g,
    breaks: async ({ farm, queue, tx: within, worker }) => {
      await submitTurns(queue, within, lanes + 1);
      const north = farm.worker('north');
      await north.claim(lanes);
      const asking = worker('south');
      const got = of === claimSql.claim ? gets(asking) : getsTogether(asking);
      return got.catch(() => true);
    },
  },
]);

/** Limits and pauses, answered requests: what the short statement must leave to the long one. */
const leftToTheLong: readonly [string, Mutant][] = [
  [
    'that several jobs are of one class only where no other has any',
    {
      of: claimSql.claimPlain,
      predicate: /where \$\d+::int = 1 or/,
      instead: 'where true or',
      breaks: async ({ farm, worker }) => {
        await farm.submitMany(3, { labels: ['a'], fairness_key: 'a' });
        await farm.submit({ labels: ['b'], fairness_key: 'b' });
        return (await worker('north', { labels: ['a', 'b'] }).claimTogether(2)) !== undefined;
      },
    },
  ],
  [
    'that a limit is the long statement’s affair',
    {
      of: claimSql.claimPlain,
      predicate: /not exists \(select from quota where [^)]*\)/,
      breaks: async ({ farm, worker }) => {
        await farm.tx((tx) => farm.queue.setLimit(tx, 'global', 0));
        await farm.submit();
        return getsTogether(worker('north'));
      },
    },
  ],
  [
    'that one request was answered',
    {
      of: claimSql.claimPlain,
      predicate: /and request_id = a\.request_id/,
      instead: 'and request_id = a.request_id and false',
      breaks: async ({ farm, worker }) => {
        await farm.submitMany(2);
        const request_id = randomUUID();
        const north = worker('north');
        await north.claim(1, { request_id });
        // The second of two leases of one request: the next number is free.
        await farm.sql(`update lease set n = 2 where request_id = '${request_id}'`);
        return ((await north.claimTogether(1, request_id)) ?? []).length > 0;
      },
    },
  ],
  [
    'that slots are counted',
    {
      of: claimSql.claimPlain,
      predicate: /holder = \$\d+ and state = 'leased'/,
      instead: '$& and false',
      breaks: async ({ farm, worker }) => {
        await farm.submitMany(3);
        const north = worker('north', { slots: 2 });
        await north.claim(1);
        return ((await north.claimTogether(2)) ?? []).length > 1;
      },
    },
  ],
];

const claimMutants: readonly [string, Mutant][] = [
  [
    'whose leases count against its slots',
    {
      of: claimSql.claim,
      predicate: /holder = \$\d+ and state = 'leased'/,
      instead: '$& and false',
      breaks: async ({ farm, worker }) => {
        await farm.submitMany(3);
        const north = worker('north', { slots: 2 });
        await north.claim(1);
        return (await north.claim(2)).length > 1;
      },
    },
  ],
  [
    'that what a machine froze had its slot',
    {
      of: claimSql.claim,
      predicate: /room \+ \(select count\(\*\) from mine\)/,
      instead: 'room',
      breaks: async ({ farm, worker }) => {
        const id = await farm.submit();
        const north = worker('north', { slots: 1 });
        const { lease_id } = await north.claimOne();
        await farm.time.pass(leaseTime);
        await farm.queue.sweep();
        const dropped = worker('north', { ...north.claimer, slots: 0 });
        return (await dropped.claim(1, { frozen: [{ job_id: id, lease_id }] })).length !== 1;
      },
    },
  ],
  [
    'that claims of one machine are one at a time',
    {
      of: claimSql.lockClaimer,
      predicate: /pg_advisory_xact_lock\(.*\)/,
      instead: 'hashtextextended($$1, 0)'.replace('$$', '$'),
      breaks: ({ farm, worker }) => twins(farm, worker('north')),
    },
  ],
  [
    'that a claim in a transaction of others is one at a time, too',
    {
      of: claimSql.tryClaimer,
      predicate: /pg_try_advisory_xact_lock\(.*\)/,
      instead: '$$1::text is not null'.replace('$$', '$'),
      breaks: async ({ farm, queue, tx: within, worker }) => {
        const north = worker('north');
        return await farm.tx(async (tx) => {
          await farm.queue.claim(tx, north.claimer, { request_id: randomUUID(), limit: 1 });
          return await within((other) => queue.mayClaimNow(other, north.claimer));
        });
      },
    },
  ],
  [
    'the pause of an account',
    {
      of: claimSql.claim,
      predicate: /not f\.paused/,
      breaks: async ({ farm, worker }) => {
        await farm.submit({ account: 'work' });
        await farm.tx((tx) => farm.queue.pauseAccount(tx, 'work', 1000, 'limited'));
        return gets(worker('north', { accounts: ['work'] }));
      },
    },
  ],
  [
    'the limit of an account',
    {
      of: claimSql.claim,
      predicate: /where spent and/,
      instead: 'where false and spent and',
      breaks: async ({ farm, worker }) => {
        await farm.submit({ account: 'work' });
        await farm.tx((tx) => farm.queue.setLimit(tx, 'account:work', 0));
        return gets(worker('north', { accounts: ['work'] }));
      },
    },
  ],
  [
    'the end of a pause',
    {
      of: claimSql.claim,
      predicate: /q\.max is not null or q\.paused_until > \(select farm_now\(\)\)/,
      breaks: async ({ farm, worker }) => {
        await farm.submit({ account: 'work' });
        await farm.tx((tx) => farm.queue.pauseAccount(tx, 'work', 1000, 'limited'));
        await farm.time.pass(1000);
        return !(await gets(worker('north', { accounts: ['work'] })));
      },
    },
  ],
  [
    'the end of a pause of what has a limit',
    {
      of: claimSql.claim,
      predicate: /q\.max is null or q\.paused_until > \(select farm_now\(\)\)/,
      breaks: async ({ farm, worker }) => {
        await farm.submit({ account: 'work' });
        await farm.tx((tx) => farm.queue.setLimit(tx, 'account:work', 5));
        await farm.tx((tx) => farm.queue.pauseAccount(tx, 'work', 1000, 'limited'));
        await farm.time.pass(1000);
        return !(await gets(worker('north', { accounts: ['work'] })));
      },
    },
  ],
  [
    'the lock of limits',
    {
      of: claimSql.claim,
      predicate: /not \$\d+::boolean and coalesce\(bool_or\(limited\), false\)/,
      instead: '$& and false',
      breaks: async ({ farm, worker }) => {
        await farm.tx((tx) => farm.queue.setLimit(tx, 'global', 1));
        await farm.submitMany(4);
        return (await worker('north').claim(4)).length > 1;
      },
    },
  ],
  [
    'the count of a limit',
    {
      of: claimSql.claim,
      predicate: /q\.max <= coalesce/,
      instead: 'q.max < coalesce',
      breaks: async ({ farm, worker }) => {
        await farm.tx((tx) => farm.queue.setLimit(tx, 'global', 1));
        await farm.submitMany(4);
        return (await worker('north').claim(4)).length > 1;
      },
    },
  ],
  [
    'that a request was answered',
    {
      of: claimSql.claim,
      predicate: /where not \(select yes from before\)/,
      instead: 'where true',
      breaks: async ({ farm, worker }) => {
        await farm.submitMany(4);
        const request_id = randomUUID();
        const north = worker('north');
        await north.claim(1, { request_id });
        await farm.sql(`delete from job_class`);
        await farm.submitMany(4, { labels: ['a'] });
        // The second of two leases of one request: the first is there, the next number is free.
        await farm.sql(`update lease set n = 2 where request_id = '${request_id}'`);
        const again = await worker('north', { ...north.claimer, labels: ['a'] }).claim(1, { request_id });
        return again[0]?.epoch !== 1 || (await farm.queue.counts(farm.database)).leased !== 1;
      },
    },
  ],
  [
    'that a frozen job is not among the others too',
    {
      of: claimSql.claim,
      predicate: /not exists \(select from mine where mine\.id = j\.id\)/,
      breaks: async ({ farm, worker }) => {
        const id = await farm.submit();
        const north = worker('north');
        const { lease_id } = await north.claimOne();
        await farm.time.pass(leaseTime);
        const claimed = north.claim(4, { frozen: [{ job_id: id, lease_id }] });
        return claimed.then((leases) => leases.length !== 1).catch(() => true);
      },
    },
  ],
  [
    'that who gets nothing new gets only what it froze',
    {
      of: claimSql.claim,
      predicate: /not \$\d+::boolean\n/,
      breaks: async ({ farm, worker }) => {
        await farm.submit();
        const frozen = [{ job_id: randomUUID(), lease_id: randomUUID() }];
        return (await worker('north').claim(4, { frozen, nothing_new: true })).length > 0;
      },
    },
  ],
  [
    'frozen by this machine',
    {
      of: claimSql.claim,
      predicate: /l\.worker = \$\d+/,
      breaks: ({ farm, worker }) =>
        continuesFor(farm, worker, (north) => worker('south', { boot: north.claimer.boot })),
    },
  ],
  [
    'frozen by this boot',
    {
      of: claimSql.claim,
      predicate: /l\.boot = \$\d+/,
      breaks: ({ farm, worker }) => continuesFor(farm, worker, () => worker('north')),
    },
  ],
  [
    'the frozen lease',
    {
      of: claimSql.claim,
      predicate: /l\.lease_id = asked\.lease_id/,
      breaks: ({ farm, worker }) => continuesFor(farm, worker, (north) => north, randomUUID()),
    },
  ],
  [
    'that the frozen lease was lost',
    {
      of: claimSql.claim,
      predicate: /l\.ended_how = 'lost'/,
      breaks: async ({ farm, worker }) => {
        const id = await farm.submit();
        const north = worker('north');
        const { lease_id } = await north.claimOne();
        await farm.tx((tx) => farm.queue.requeue(tx, id));
        return (await north.claimOne({ frozen: [{ job_id: id, lease_id }] })).continues;
      },
    },
  ],
  [
    'the state, as another claimed it meanwhile',
    {
      of: claimSql.claim,
      predicate: /where j\.state = 'queued' and (not j\.awaits_lane\s+limit)/,
      instead: 'where $1',
      // Both stop between their snapshot and the job's lock.
      alsoFor: (stated) =>
        stated.name === claimSql.claim.name
          ? {
              ...stated,
              text: stated.text.replace('(select limited from found)', `$& and ${gate}`),
            }
          : stated,
      breaks: async ({ farm, worker }) => {
        await farm.submit();
        const stopped = await closeGate(farm);
        const slow = worker('slow').claim(2);
        await untilWaiting(1);
        await farm.worker('quick').claimOne();
        await stopped.open();
        return (await slow).length > 0;
      },
    },
  ],
  [
    'the turn of a key',
    {
      of: queueSql.submit,
      predicate: /greatest\(q\.turn, \(select turn from served\)\)/,
      instead: '(select turn from served)',
      breaks: async ({ farm, queue, worker, tx: within }) => {
        const submit = (key: string, count: number) =>
          within(async (tx) => {
            for (let n = 0; n < count; n += 1)
              await queue.submit(tx, { id: randomUUID(), kind: 'plain', fairness_key: key });
          });
        await submit('greedy', 30);
        await submit('modest', 3);
        const order = (await worker('north').claim(6)).map((lease) => lease.id);
        const keys = await Promise.all(order.map(async (id) => (await farm.job(id)).fairness_key));
        return keys.filter((key) => key === 'modest').length < 2;
      },
    },
  ],
  [
    'virtual time',
    {
      of: claimSql.advance,
      predicate: /turn < \$\d+::float8/,
      instead: '($& and false)',
      breaks: async ({ farm, worker }) => {
        await farm.submit({ fairness_key: 'idle' });
        await farm.submitMany(40, { fairness_key: 'busy' });
        const north = worker('north');
        for (let n = 0; n < 2; n += 1) await north.claim(16);
        await farm.submitMany(20, { fairness_key: 'idle' });
        const ids = (await north.claim(8)).map((lease) => lease.id);
        const keys = await Promise.all(ids.map(async (id) => (await farm.job(id)).fairness_key));
        return keys.every((key) => key === 'idle');
      },
    },
  ],
];

async function twins(on: QueueFarm, north: TestWorker): Promise<boolean> {
  await on.submitMany(1);
  const request_id = randomUUID();
  const claimed = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  const first = on.tx(async (tx) => {
    await on.queue.claim(tx, north.claimer, { request_id, limit: 1 });
    claimed.resolve();
    await go.promise;
  });
  await claimed.promise;
  const second = north.claim(1, { request_id });
  // The twin must wait; one that does not answers that there is nothing.
  const waited = await Promise.race([second.then(() => false), untilWaiting(1).then(() => true)]);
  go.resolve();
  await first;
  return !waited || (await second).length !== 1;
}

async function continuesFor(
  on: QueueFarm,
  worker: World['worker'],
  caller: (north: TestWorker) => TestWorker,
  lease = '',
): Promise<boolean> {
  const id = await on.submit();
  const north = worker('north');
  const { lease_id } = await north.claimOne();
  await on.time.pass(leaseTime);
  await on.queue.sweep();
  const [claimed] = await caller(north).claim(1, { frozen: [{ job_id: id, lease_id: lease || lease_id }] });
  return claimed?.continues ?? false;
}

/** Beats of two leases that were sent in time; the second's job was in other hands until after its end. */
const beatLate = async (world: World) => {
  await world.farm.submitMany(2);
  const north = world.worker('north');
  const [first, second] = await north.claim(2);
  if (!first || !second) throw new Error('there was nothing to claim');
  const locked = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  const blocker = world.farm.tx(async (tx) => {
    await tx.first(leaseSql.lock, { job_id: second.id });
    locked.resolve();
    await go.promise;
  });
  await locked.promise;
  const beats = [first, second].map((lease) => ({
    ...fenceOf(lease),
    phase: 'preparing' as const,
    idle_ms: 0,
    acks: [],
  }));
  const late = world.queue.heartbeat(north.claimer, beats);
  await untilWaiting(1);
  await world.farm.time.pass(leaseTime);
  go.resolve();
  await blocker;
  return (await late)[1]?.held ?? false;
};

/** An answer that was given to north, asked for by another. */
const answeredTo =
  (caller: (world: World, north: TestWorker, lease: LeasedJob) => [TestWorker, LeasedJob]) => async (world: World) => {
    await world.farm.submit();
    const north = world.worker('north');
    const lease = await north.claimOne();
    await north.complete(lease, 1);
    const [worker, shown] = caller(world, north, lease);
    return accepted(worker.complete(shown, 1));
  };

const inScope = (within: QueueFarm['tx'], scope: string, act: (tx: Transaction) => Promise<unknown>) =>
  within(async (tx) => {
    await tx.run(lockTestScope, { scope });
    await act(tx);
  });

const otherMutants: readonly [string, Mutant][] = [
  [
    'that a beat of many never waits for one',
    {
      of: leaseSql.beat,
      predicate: /offset 0 for update skip locked/,
      instead: 'offset 0 for update',
      breaks: beatLate,
    },
  ],
  [
    'whose answer it was',
    {
      of: leaseSql.ended,
      predicate: /worker = \$\d+/,
      breaks: answeredTo(({ worker }, _, lease) => [worker('south'), lease]),
    },
  ],
  [
    'which lease’s answer it was',
    {
      of: leaseSql.ended,
      predicate: /lease_id = \$\d+/,
      breaks: answeredTo((_, north, lease) => [north, { ...lease, lease_id: randomUUID() }]),
    },
  ],
  [
    'which epoch’s answer it was',
    {
      of: leaseSql.ended,
      predicate: /epoch = \$\d+/,
      breaks: answeredTo((_, north, lease) => [north, { ...lease, epoch: lease.epoch + 1 }]),
    },
  ],
  [
    'that a cancelled job ends cancelled',
    {
      of: leaseSql.settle,
      predicate: /j\.end_kind = 'cancel'/,
      instead: '($& and false)',
      breaks: async ({ farm, worker }) => {
        const id = await farm.submit();
        const north = worker('north');
        const lease = await north.claimOne();
        await farm.tx((tx) => farm.queue.cancel(tx, id));
        return (await north.complete(lease)).state === 'done';
      },
    },
  ],
  [
    'that an end is never left',
    {
      of: leaseSql.leave,
      predicate: /j\.state in \('queued', 'held', 'leased'\)/,
      breaks: async ({ farm, queue, worker, tx: within }) => {
        const id = await farm.submit();
        const north = worker('north');
        await north.complete(await north.claimOne());
        await within((tx) => queue.close(tx, id, 'dead'));
        return (await farm.job(id)).state !== 'done';
      },
    },
  ],
  [
    'that a lease ends once',
    {
      of: leaseSql.leave,
      predicate: /l\.ended_at is null/,
      breaks: async ({ farm, queue, worker, tx: within }) => {
        const id = await farm.submit();
        await worker('north').claimOne();
        await farm.time.pass(leaseTime);
        await farm.queue.sweep();
        await within((tx) => queue.close(tx, id, 'done'));
        return (await queue.pastLease(farm.database, id, 1))?.ended_how !== 'lost';
      },
    },
  ],
  [
    'that the kind hears of the start',
    {
      of: leaseSql.beat,
      predicate: /not \(j\.kind = any/,
      instead: '(true or j.kind = any',
      breaks: async ({ farm, kind, worker }) => {
        await farm.submit({ kind: 'turn', scope: 't_1' });
        const north = worker('north');
        await north.beat(await north.claimOne(), 'started');
        return !kind.told.includes('started 1');
      },
    },
  ],
  [
    'that an end which its kind must see is not shared',
    {
      of: leaseSql.settlePlain,
      predicate: /not j\.kind = any\(\$\d+::text\[\]\)/,
      breaks: async ({ farm, queue, tx: within, worker }) => {
        await farm.submit({ kind: 'turn', scope: 't_1' });
        const north = worker('north');
        const fence = fenceOf(await north.claimOne());
        const end = { ended: 'done', result: 1 } as const;
        const [settled] = await within((tx) => queue.completeTogether(tx, [{ holder: north.claimer, fence, end }]));
        return settled !== undefined;
      },
    },
  ],
  [
    'that no beat passes the deadline',
    {
      of: leaseSql.beat,
      predicate: /least\((.*), j\.deadline\)/,
      instead: '$1',
      breaks: async ({ farm, worker }) => {
        await farm.submit({ deadline_ms: 1000 });
        const north = worker('north');
        const reply = await north.beat(await north.claimOne());
        return reply.held && reply.lease_ms > 1000;
      },
    },
  ],
  [
    'that a beat takes no phase back',
    {
      of: leaseSql.beat,
      predicate: /array_position\(\$\d+::text\[\], held\.phase\) > /,
      instead: '1 = 1 or $&',
      breaks: async ({ farm, worker }) => {
        const id = await farm.submit();
        const north = worker('north');
        const lease = await north.claimOne();
        await north.beat(lease, 'capturing');
        await north.beat(lease, 'started');
        return (await farm.job(id)).phase !== 'capturing';
      },
    },
  ],
  [
    'that what was delivered stays delivered',
    {
      of: leaseSql.acknowledge,
      predicate: /s\.outcome is null or s\.outcome = 'queued'/,
      instead: 'true',
      breaks: async ({ farm, queue, worker }) => {
        const id = await farm.submit();
        const north = worker('north');
        const lease = await north.claimOne();
        await farm.tx((tx) => queue.signal(tx, id, { kind: 'steer', text: 'left' }));
        await north.beat(lease, 'started', { acks: [{ seq: 1, outcome: 'delivered' }] });
        await north.beat(lease, 'started', { acks: [{ seq: 1, outcome: 'not_running' }] });
        return (await queue.signalOutcomes(farm.database, id))[0]?.outcome !== 'delivered';
      },
    },
  ],
  [
    'that only what was heard is told again',
    {
      of: leaseSql.tellAgain,
      predicate: /outcome = 'delivered'/,
      breaks: async ({ farm, queue, tx, worker }) => {
        const id = await farm.submit();
        const north = worker('north');
        const lease = await north.claimOne();
        await farm.tx((within) => queue.signal(within, id, { kind: 'steer', text: 'left' }));
        await north.beat(lease, 'started', { acks: [{ seq: 1, outcome: 'uncertain' }] });
        await tx((within) => queue.tellAgain(within, id));
        return (await queue.signalOutcomes(farm.database, id))[0]?.outcome !== 'uncertain';
      },
    },
  ],
  [
    'that an interrupt is not told again',
    {
      of: leaseSql.tellAgain,
      predicate: /kind = 'steer'/,
      breaks: async ({ farm, queue, tx, worker }) => {
        const id = await farm.submit();
        const north = worker('north');
        const lease = await north.claimOne();
        await farm.tx((within) => queue.signal(within, id, { kind: 'interrupt', text: '' }));
        await north.beat(lease);
        await tx((within) => queue.tellAgain(within, id));
        return (await queue.signalOutcomes(farm.database, id))[0]?.outcome !== 'delivered';
      },
    },
  ],
  [
    'that a lost lease is looked at again after its lock',
    {
      of: sweepSql.stillDue,
      predicate: /'expired'\s+when/,
      instead: "'expired' when state = 'leased' then 'expired' when",
      breaks: async ({ farm, queue, worker }) => {
        const id = await farm.submit();
        const lease = await worker('north').claimOne();
        await farm.time.pass(leaseTime);
        const locked = Promise.withResolvers<void>();
        const go = Promise.withResolvers<void>();
        const beaten = farm.tx(async (tx) => {
          await tx.run(extend, { id: lease.id });
          locked.resolve();
          await go.promise;
        });
        await locked.promise;
        const swept = queue.sweep();
        await untilWaiting(1);
        go.resolve();
        await beaten;
        return (await swept).requeued.includes(id);
      },
    },
  ],
  [
    'the lease’s end in the sweep',
    {
      of: sweepSql.due,
      predicate: /lease_expires_at <= \(select farm_now\(\)\)/,
      instead: '($& and false)',
      breaks: async ({ farm, queue, worker }) => {
        const id = await farm.submit();
        await worker('north').claimOne();
        await farm.time.pass(leaseTime);
        return !(await queue.sweep()).requeued.includes(id);
      },
    },
  ],
  [
    'the deadline in the sweep',
    {
      of: sweepSql.due,
      predicate: /deadline is not null and deadline <= \(select farm_now\(\)\)/,
      instead: '($& and false)',
      breaks: async ({ farm, queue }) => {
        const id = await farm.submit({ deadline_ms: 1000 });
        await farm.time.pass(1000);
        return !(await queue.sweep()).ended.includes(id);
      },
    },
  ],
  [
    'that preparing is not silence',
    {
      of: sweepSql.stillDue,
      predicate: /phase <> 'preparing' and/,
      instead: '',
      alsoFor: (stated) =>
        stated.name === sweepSql.due.name
          ? { ...stated, text: stated.text.replace("phase <> 'preparing' and", '') }
          : stated,
      breaks: async ({ farm, queue, worker }) => {
        const id = await farm.submit();
        const north = worker('north');
        const lease = await north.claimOne();
        await farm.sql(`update job set activity_at = activity_at - interval '51 min' where id = '${id}'`);
        await north.beat(lease, 'preparing', { idle_ms: 51 * 60_000 });
        return (await queue.sweep()).requeued.includes(id);
      },
    },
  ],
  [
    'that a pause takes no cancel back',
    {
      of: queueSql.flagEnd,
      predicate: /end_kind is distinct from 'cancel'/,
      breaks: async ({ farm, queue, worker, tx: within }) => {
        const id = await farm.submit({ scope: 't_9' });
        await worker('north').claimOne();
        await inScope(within, 't_9', (tx) => queue.flagEnd(tx, 't_9', 'cancel', 'over'));
        await inScope(within, 't_9', (tx) => queue.flagEnd(tx, 't_9', 'pause', 'later'));
        return (await farm.job(id)).end_kind !== 'cancel';
      },
    },
  ],
  [
    'that a resume takes no cancel back',
    {
      of: queueSql.unflagPause,
      predicate: /end_kind = 'pause'/,
      breaks: async ({ farm, queue, worker, tx: within }) => {
        const id = await farm.submit({ scope: 't_9' });
        await worker('north').claimOne();
        await inScope(within, 't_9', (tx) => queue.flagEnd(tx, 't_9', 'cancel', 'over'));
        await inScope(within, 't_9', (tx) => queue.unflagPause(tx, 't_9'));
        return (await farm.job(id)).end_kind !== 'cancel';
      },
    },
  ],
  [
    'whose jobs a cancel ends',
    {
      of: queueSql.endQueued,
      predicate: /scope = \$\d+/,
      breaks: async ({ farm, queue, tx: within }) => {
        const other = await farm.submit({ scope: 't_8' });
        await inScope(within, 't_9', (tx) => queue.endQueued(tx, 't_9'));
        return (await farm.job(other)).state !== 'queued';
      },
    },
  ],
  [
    'how many lanes are used',
    {
      of: queueSql.submit,
      predicate: /where not awaits_lane and scope/,
      instead: 'where false and not awaits_lane and scope',
      breaks: async ({ queue, tx: within }) => (await submitTurns(queue, within, lanes + 1)) === 0,
    },
  ],
  [
    'that nobody comes before who awaits a lane',
    {
      of: queueSql.submit,
      predicate: /where awaits_lane and scope/,
      instead: 'where false and awaits_lane and scope',
      breaks: async ({ farm, queue, tx: within, worker }) => {
        await submitTurns(queue, within, lanes + 1);
        const lease = await worker('north').claimOne();
        // A lane is free, and nobody was told yet.
        await farm.sql(`update job set state = 'done', lease_expires_at = null where id = '${lease.id}'`);
        return (await submitTurns(queue, within, 1)) !== 2;
      },
    },
  ],
  [
    'how many lanes are free',
    {
      of: laneSql.admit,
      predicate: /(\$\d+::int) - \(/,
      instead: '$1 + (',
      breaks: async ({ queue, tx: within, worker }) => {
        await submitTurns(queue, within, lanes + 3);
        const north = worker('north');
        await north.complete(await north.claimOne(), null, 'silent');
        return (await submitTurns(queue, within, 0)) !== 2;
      },
    },
  ],
  [
    'that a lane is kept for a session that may stand frozen',
    {
      of: laneSql.passOn,
      predicate: /l\.ended_how = 'lost'/,
      instead: 'false',
      breaks: async ({ farm, queue, tx: within, worker }) => {
        await submitTurns(queue, within, lanes, { labels: ['a'] });
        const north = worker('north', { labels: ['a'] });
        const lease = await north.claimOne();
        await north.beat(lease, 'started');
        await submitTurns(queue, within, lanes);
        await farm.time.pass(leaseTime);
        await queue.sweep();
        await farm.time.pass(limits.laneUnusedMs);
        await queue.sweep();
        const frozen = [{ job_id: lease.id, lease_id: lease.lease_id }];
        return (await north.claim(1, { frozen }))[0]?.continues !== true;
      },
    },
  ],
  [
    'that what had a lane keeps it, and what awaits one goes on waiting',
    {
      of: leaseSql.leave,
      predicate: /awaits_lane = j\.awaits_lane and/,
      instead: 'awaits_lane = false and',
      breaks: async ({ queue, tx: within }) => {
        await submitTurns(queue, within, lanes);
        const last = randomUUID();
        await inScope(within, 't_9', (tx) => queue.submit(tx, { id: last, kind: 'turn', scope: 't_9' }));
        await inScope(within, 't_9', (tx) => queue.requeue(tx, last));
        return (await submitTurns(queue, within, 0)) !== 1;
      },
    },
  ],
  [
    'that a cancel leaves what has ended',
    {
      of: queueSql.endQueued,
      predicate: /state in \('queued', 'held'\)/,
      breaks: async ({ farm, queue, worker, tx: within }) => {
        const id = await farm.submit({ scope: 't_9' });
        const north = worker('north');
        await north.complete(await north.claimOne());
        await inScope(within, 't_9', (tx) => queue.endQueued(tx, 't_9'));
        return (await farm.job(id)).state !== 'done';
      },
    },
  ],
];

describe('without', () => {
  it.each([...fenceMutants, ...notGivenMutants, ...laneMutants, ...leftToTheLong, ...claimMutants, ...otherMutants])(
    '%s a promise breaks',
    async (_, mutant) => {
      expect(await isBroken(mutant, false)).toBe(false);
      expect(await isBroken(mutant, true)).toBe(true);
    },
  );
});

async function closeGate(on: QueueFarm): Promise<{ open(): Promise<void> }> {
  const closed = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  const held = on.tx(async (tx) => {
    await tx.run(takeGate);
    closed.resolve();
    await go.promise;
  });
  await closed.promise;
  return {
    async open() {
      go.resolve();
      await held;
    },
  };
}

/** Jobs of a kind with lanes; answers how many await one then. */
async function submitTurns(
  queue: QueueFarm['queue'],
  within: QueueFarm['tx'],
  count: number,
  more: Partial<NewJob> = {},
): Promise<number | undefined> {
  await inScope(within, 't_9', async (tx) => {
    for (let n = 0; n < count; n += 1)
      await queue.submit(tx, { id: randomUUID(), kind: 'turn', scope: 't_9', ...more });
  });
  const [row] = await farm.sql<{ n: number }>(`select count(*)::int as n from job where awaits_lane and scope = 't_9'`);
  return row?.n;
}

const takeGate = statement<unknown>('test.take_gate', 'select pg_advisory_xact_lock(42)');
const extend = statement<unknown>(
  'test.extend',
  `update job set lease_expires_at = lease_expires_at + interval '1 h' where id = $id`,
);

/** Until so many statements of this database wait for a lock. */
async function untilWaiting(count: number): Promise<void> {
  for (let n = 0; n < 3000; n += 1) {
    const [row] = await farm.sql<{ n: number }>(
      `select count(*) as n from pg_locks l join pg_stat_activity a using (pid)
       where not l.granted and a.datname = current_database()`,
    );
    if ((row?.n ?? 0) >= count) return;
  }
  throw new Error('nobody waited for a lock');
}
