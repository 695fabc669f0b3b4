import { randomUUID } from 'node:crypto';
import { expect } from '@jest/globals';
import type { Ended, FailReason, JobPhase, LeasedJob, LeaseReply } from '#contracts';
import {
  type Claimer,
  type ClaimRequest,
  type JobRow,
  type Kind,
  type LeaseToken,
  type NewJob,
  openQueue,
  type Queue,
  type QueueOptions,
  type Ring,
} from '#jobs';
import { type Database, openDatabase, statement, type Transaction } from '#store';
import { aDatabase } from './database.js';
import { type Rewrite, rewriting } from './rewriting.js';

/** Default lease of the farms under test, in farm time. */
export const leaseTime = 30_000;

interface FarmOptions {
  readonly kinds?: readonly Kind[];
  readonly connections?: number;
  readonly offer?: QueueOptions['offer'];
}

/** A queue on a database of its own, with workers that say what they are told to say. */
export interface QueueFarm {
  readonly database: Database;
  readonly queue: Queue;
  readonly rings: Ring[];
  readonly troubles: unknown[];
  readonly time: {
    /** Moves farm time, not the machine's clock (D26). Nobody ticks here: it stands still otherwise (H3). */
    pass(ms: number): Promise<void>;
  };
  submit(job?: Partial<NewJob>): Promise<string>;
  submitMany(count: number, job?: Partial<NewJob>): Promise<readonly string[]>;
  job(id: string): Promise<JobRow>;
  worker(name: string, what?: Partial<Claimer>): TestWorker;
  tx<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  /** As the owner of the tables; close it. */
  owner(): Database;
  /** One statement by hand. */
  sql<Row = Readonly<Record<string, unknown>>>(text: string): Promise<readonly Row[]>;
  /** A worker of a queue on the same database whose statements are rewritten. */
  rewritten(rewrite: Rewrite): Pick<QueueFarm, 'queue' | 'worker' | 'tx'>;
  close(): Promise<void>;
}

export class TestWorker {
  constructor(
    private readonly farm: { readonly database: Database; readonly queue: Queue },
    readonly claimer: Claimer,
  ) {}

  claim(limit = 1, request: Partial<ClaimRequest> = {}): Promise<readonly LeasedJob[]> {
    return this.farm.database.transaction((tx) =>
      this.farm.queue.claim(tx, this.claimer, { request_id: randomUUID(), limit, ...request }),
    );
  }

  /** By the statement that calls of one moment share; nothing where it leaves the call to `claim`. */
  async claimTogether(limit = 1, request_id: string = randomUUID()): Promise<readonly LeasedJob[] | undefined> {
    const [answers] = await this.farm.database.transaction((tx) =>
      this.farm.queue.claimTogether(tx, [{ claimer: this.claimer, requests: [{ request_id, limit }] }]),
    );
    return answers?.[0];
  }

  async claimOne(request: Partial<ClaimRequest> = {}): Promise<LeasedJob> {
    const [lease] = await this.claim(1, request);
    if (!lease) throw new Error('there was nothing to claim');
    return lease;
  }

  async beat(lease: LeasedJob, phase: JobPhase = 'preparing', more: Record<string, unknown> = {}): Promise<LeaseReply> {
    const beat = { ...fenceOf(lease), phase, idle_ms: 0, acks: [], ...more };
    const [reply] = await this.farm.queue.heartbeat(this.claimer, [beat]);
    if (!reply) throw new Error('the beat was not answered');
    return reply;
  }

  /** Prepares and completes, as the operation does. */
  async complete(lease: LeasedJob, result: unknown = { ok: true }, ended: Ended = 'done') {
    const end = { ended, result };
    const prepared = await this.farm.queue.prepareCompletion(this.claimer, fenceOf(lease), end);
    return this.farm.database.transaction((tx) =>
      this.farm.queue.complete(tx, this.claimer, fenceOf(lease), end, prepared),
    );
  }

  fail(lease: LeasedJob, reason: FailReason = 'job_error', retryable = true, detail?: string) {
    const failure = { reason, retryable, ...(detail === undefined ? {} : { detail }) };
    return this.farm.database.transaction((tx) => this.farm.queue.fail(tx, this.claimer, fenceOf(lease), failure));
  }

  async started(lease: LeasedJob): Promise<JobRow> {
    const nothing = async () => undefined;
    const { job } = await this.farm.database.transaction((tx) =>
      this.farm.queue.markStarted(tx, this.claimer, fenceOf(lease), nothing),
    );
    return job;
  }

  /** The same machine after a restart. */
  rebooted(): TestWorker {
    return new TestWorker(this.farm, { ...this.claimer, boot: randomUUID() });
  }
}

export function fenceOf(lease: Pick<LeasedJob, 'id' | 'epoch' | 'lease_id'>) {
  return { job_id: lease.id, epoch: lease.epoch, lease_id: lease.lease_id };
}

export async function aQueueFarm({ kinds = [], connections = 10, offer }: FarmOptions = {}): Promise<QueueFarm> {
  const { appUrl, ownerUrl } = await aDatabase();
  const database = openDatabase({ url: appUrl, max: connections });
  await database.run(stopTime);
  const rings: Ring[] = [];
  const troubles: unknown[] = [];
  const open = (on: Database) =>
    openQueue({
      database: on,
      kinds,
      leaseMs: leaseTime,
      ring: (ring) => rings.push(ring),
      ...(offer && { offer }),
      mintJobToken: (lease: LeaseToken) => `token-${lease.job}-${lease.epoch}-${randomUUID()}`,
      onTrouble: (_, error) => troubles.push(error),
    });
  const queue = open(database);
  const workerOf =
    (farm: { database: Database; queue: Queue }) =>
    (name: string, what: Partial<Claimer> = {}) =>
      new TestWorker(farm, {
        worker: name,
        boot: randomUUID(),
        pool: 'default',
        labels: [],
        accounts: [],
        slots: 1024,
        ...what,
      });
  const submitMany = async (count: number, job: Partial<NewJob> = {}) => {
    const ids = Array.from({ length: count }, () => randomUUID());
    await database.transaction(async (tx) => {
      for (const id of ids) await queue.submit(tx, { id, kind: 'plain', ...job });
    });
    return ids;
  };
  return {
    database,
    queue,
    rings,
    troubles,
    time: {
      async pass(ms) {
        await database.run(passTime, { ms });
      },
    },
    submitMany,
    async submit(job = {}) {
      const [id] = await submitMany(1, job);
      if (id === undefined) throw new Error('no id');
      return job.id ?? id;
    },
    async job(id) {
      const job = await queue.find(database, id);
      expect(job).toBeDefined();
      if (!job) throw new Error('no job');
      return job;
    },
    worker: workerOf({ database, queue }),
    rewritten(rewrite) {
      const other = rewriting(database, rewrite);
      const mutant = open(other);
      return {
        queue: mutant,
        worker: workerOf({ database: other, queue: mutant }),
        tx: (work) => other.transaction(work),
      };
    },
    tx: (work) => database.transaction(work),
    owner: () => openDatabase({ url: ownerUrl, max: 1 }),
    sql: <Row>(text: string) => database.all(statement<Row>('', text)),
    close: () => database.close(),
  };
}

const stopTime = statement<unknown>(
  'test.stop_time',
  `update farm_clock set ticked_at = clock_timestamp() - interval '1 h'`,
);
const passTime = statement<unknown>(
  'test.pass_time',
  `update farm_clock set farm_at = farm_at + $ms::float8 * interval '1 ms'`,
);

/** A code of a FarmError, for `rejects.toMatchObject`. */
export function withCode(code: string) {
  return { code };
}
