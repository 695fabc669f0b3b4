import { randomUUID } from 'node:crypto';
import { bells, jobSubmit, taskStart, workerInvite, workflowImport } from '#contracts';
import { type JobEnd, openQueue, type Queue } from '#jobs';
import { type Bell, type Database, openBell, openDatabase, statement } from '#store';
import type { FarmClient } from '../../apps/cli/src/client/farm-client.js';
import { openWithCredential } from '../../apps/cli/src/client/open-farm-client.js';
import { type RunningController, startController } from '../../apps/cli/src/farm/controller-process.js';
import type { Services } from '../../apps/cli/src/services/services.js';
import { drain, oneByOne, type System, type Waited } from './system.js';
import { joinAsWorker, type WorkerClient } from './worker-client.js';

interface Leased {
  readonly id: string;
  readonly epoch: number;
  readonly lease_id: string;
}

/** A controller process, a person and one worker that has as many calls on the road as asked. */
export interface BenchFarm {
  readonly controller: RunningController;
  plain(): System;
  /** Jobs that another controller queues: this one hears of them by NATS. */
  byAnother(): System;
  claim16(): System;
  /** Jobs of Tasks: each completion opens the next Dispatch of its lane. */
  dispatch(lanes: number): Promise<System>;
  /** p99 of claims in milliseconds with so many jobs queued. */
  claimP99(queued: number, samples: number): Promise<number>;
  /** Ends what plain jobs are left. */
  empty(): Promise<void>;
  close(): Promise<void>;
}

const workflow = `
kind: workflow
id: bench
description: One member, for the benchmark.
lead:
  id: lead
  provider: { kind: scripted }
`;

export async function benchFarm(data: string, services: Services): Promise<BenchFarm> {
  const controller = await startController({ data, services, port: 0, env: { LONGSHORE_CALLS_PER_MINUTE: '0' } });
  const client = await openWithCredential(`${data}/credential.json`);
  const database = openDatabase({ url: services.database.appUrl, max: 4 });
  const bell = await bellOf(services);
  // As another controller of the farm: what it submits is told by NATS.
  const queue = openQueue({ database, kinds: [], mintJobToken: () => '', ring: () => bell.ring(bells.controllers) });
  const join = async (pool: string, connections = 256) => {
    const { ticket } = await client.call(workerInvite, { name: 'bench', pool, slots: 1024 });
    return joinAsWorker(controller.url, ticket, connections);
  };
  // Machines in two pools, so that none gets the others' jobs.
  const [worker, member] = [await join(pool), await join('default')];
  // As many as have slots for what 256 claims of 16 hold.
  const machines = [worker, ...(await Promise.all(Array.from({ length: 3 }, () => join(pool, 64))))];
  const parts: Parts = { client, database, queue, worker };
  const plain = { name: 'longshore', inFlight: [16, 256], database: services.database.ownerUrl, close: nothing };
  return {
    controller,
    plain: () => ({
      ...plain,
      enqueue: (count) => fill(parts, count),
      work: (count, inFlight) => drain(count, inFlight, () => claimAndComplete(worker, 1, done)),
      latency: (count) => latency(parts, count, () => client.call(jobSubmit, { kind: 'bench', pool })),
    }),
    byAnother: () => ({
      ...plain,
      name: 'longshore-two-controllers',
      inFlight: [],
      enqueue: (count) => fill(parts, count),
      work: (count, inFlight) => drain(count, inFlight, () => claimAndComplete(worker, 1, done)),
      latency: (count) =>
        latency(parts, count, () =>
          database.transaction((tx) => queue.submit(tx, { id: randomUUID(), kind: 'bench', pool })),
        ),
    }),
    claim16: () => ({
      ...plain,
      name: 'longshore-claim-16',
      enqueue: (count) => fill(parts, count),
      work: (count, inFlight) =>
        drain(count, inFlight, (lane) => claimAndComplete(machines[lane % machines.length] ?? worker, 16, done)),
    }),
    async dispatch(lanes) {
      await client.call(workflowImport, { document: workflow });
      return {
        ...plain,
        name: 'longshore-dispatch',
        // As many lanes as calls at once would take longer to start than all else.
        inFlight: [16],
        enqueue: () => startLanes(parts, lanes),
        work: (count, inFlight) =>
          drain(count, inFlight, () => claimAndComplete(member, 1, { ended: 'drained', result: {} })),
      };
    },
    async claimP99(queued, samples) {
      await empty(parts);
      await fill(parts, queued + samples + 30);
      const taken: number[] = [];
      // The first ones pay for the rows that were just written, not for how many wait.
      for (let n = 0; n < 30; n += 1) await claimAndComplete(worker, 1, done);
      for (let n = 0; n < samples; n += 1) {
        const began = performance.now();
        const [job] = await claim(worker, 1);
        taken.push(performance.now() - began);
        if (job) await complete(worker, job, done);
      }
      await empty(parts);
      return percentile(taken, 0.99);
    },
    empty: () => empty(parts),
    async close() {
      await Promise.all([...machines, member].map((each) => each.close()));
      await client.close();
      await bell.close();
      await database.close();
      await controller.process.stop(10_000);
    },
  };
}

interface Parts {
  readonly client: FarmClient;
  readonly database: Database;
  readonly queue: Queue;
  readonly worker: WorkerClient;
}

const pool = 'bench';
const done: JobEnd = { ended: 'done', result: { ok: true } };

async function bellOf({ nats }: Services): Promise<Bell> {
  return openBell({ url: nats.url, ...(nats.login.kind === 'creds' && { creds: nats.login.creds }) });
}

async function claim(worker: WorkerClient, limit: number, wait_seconds = 0): Promise<readonly Leased[]> {
  const answer = await worker.call('job_claim', { request_id: randomUUID(), limit, wait_seconds });
  return leasesOf(answer);
}

async function complete(worker: WorkerClient, { id, epoch, lease_id }: Leased, end: JobEnd): Promise<void> {
  await worker.call('job_complete', { job_id: id, epoch, lease_id, ...end });
}

async function claimAndComplete(worker: WorkerClient, limit: number, end: JobEnd): Promise<number> {
  const jobs = await claim(worker, limit);
  await Promise.all(jobs.map((job) => complete(worker, job, end)));
  return jobs.length;
}

function leasesOf(answer: unknown): readonly Leased[] {
  if (typeof answer !== 'object' || answer === null || !('jobs' in answer) || !Array.isArray(answer.jobs)) {
    throw new Error('job_claim answered no jobs');
  }
  return answer.jobs;
}

/** Many jobs in one statement: the first is queued as all are, the others are its copies. */
async function fill({ database, queue }: Parts, count: number): Promise<void> {
  const id = randomUUID();
  await database.transaction(async (tx) => {
    await queue.submit(tx, { id, kind: 'bench', pool });
    await tx.run(copies, { id, count: count - 1 });
  });
}

/** Nothing waits: what is left of one measurement is no part of the next. */
async function empty({ database }: Parts): Promise<void> {
  await database.run(endAll);
}

async function startLanes({ client, database }: Parts, lanes: number): Promise<void> {
  const [row] = await database.all(queuedDispatches);
  for (let n = row?.n ?? 0; n < lanes; n += 8) {
    await Promise.all(
      Array.from({ length: Math.min(8, lanes - n) }, () =>
        client.call(taskStart, { workflow_id: 'bench', prompt: 'Nothing is to be done.' }),
      ),
    );
  }
  for (let n = 0; n < 600; n += 1) {
    const [now] = await database.all(queuedDispatches);
    if ((now?.n ?? 0) >= lanes) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error('the Tasks did not become ready');
}

async function latency({ worker }: Parts, count: number, submit: () => Promise<unknown>): Promise<readonly Waited[]> {
  const ends: Promise<void>[] = [];
  const samples = await oneByOne(count, submit, async () => {
    for (;;) {
      const [job] = await claim(worker, 1, 20);
      const at = performance.now();
      if (!job) continue;
      ends.push(complete(worker, job, done));
      return at;
    }
  });
  await Promise.all(ends);
  return samples;
}

export function percentile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
}

async function nothing(): Promise<void> {}

const copies = statement<unknown>(
  'bench.copies',
  `insert into job (id, kind, pool, labels, class, fairness_key, turn, state, available_at)
   select gen_random_uuid(), kind, pool, labels, class, fairness_key, turn + n, state, available_at
   from job cross join generate_series(1, $count::int) n where id = $id`,
);
const endAll = statement<unknown>(
  'bench.end_all',
  `update job set state = 'done', settled_at = clock_timestamp() where state = 'queued' and kind = 'bench'`,
);
const queuedDispatches = statement<{ n: number }>(
  'bench.queued_dispatches',
  `select count(*) as n from job where state = 'queued' and kind = 'dispatch'`,
);
