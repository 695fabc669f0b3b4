import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { JobPhase } from '#contracts';
import { type Parameters, type Statement, statement } from '#store';
import { aQueueFarm, type QueueFarm } from '../../../test/support/queue.js';
import { claimSql } from './sql/claim.js';
import { laneSql } from './sql/lanes.js';
import { leaseSql } from './sql/lease.js';
import { queueSql } from './sql/queue.js';
import { sweepSql } from './sql/sweep.js';

const queued = 100_000;
let farm: QueueFarm;
beforeAll(async () => {
  farm = await aQueueFarm();
  await farm.submit({ labels: ['a'] });
  await farm.submit({ labels: ['b'] });
  await farm.sql(`
    insert into job (id, kind, pool, labels, class, fairness_key, turn, state, available_at)
    select gen_random_uuid(), kind, pool, labels, class, fairness_key, n, 'queued', available_at
    from job cross join generate_series(1, ${queued / 2}) n`);
});
afterAll(() => farm.close());

const id = randomUUID();
const fence = { job_id: id, epoch: 1, lease_id: id, holder: 'north', boot: id };
const one: Parameters = {
  jobs: [id],
  epochs: [1],
  lease_ids: [id],
  phases: ['started'],
  sessions: [null],
  idles: [0],
  progress: [null],
  order: JobPhase.options,
  ruled: [],
  seqs: [1],
  outcomes: ['delivered'],
};
const claim: Parameters = {
  worker: 'north',
  boot: id,
  request_id: id,
  request_ids: [id],
  limits: [16],
  befores: [0],
  places: 16,
  slots: 1024,
  pool: 'default',
  labels: ['a', 'b'],
  accounts: [],
  kinds: null,
  frozen_jobs: [id],
  frozen_leases: [id],
  limit: 16,
  offset: 0,
  locked: false,
  spare: 32,
  nothing_new: false,
  lease_ms: 30_000,
};
const leave: Parameters = {
  state: 'queued',
  note: null,
  after_ms: 0,
  tries: 0,
  start_attempts: 0,
  exclude: null,
  how: 'lost',
  hash: null,
  answer: null,
};
const submitted: Parameters = {
  id,
  lanes: 32,
  class: 'a',
  fairness_key: 'a',
  weight: 1,
  account: null,
  prefer: null,
  prefer_ms: null,
  delay_ms: 0,
  deadline_ms: null,
  priority: 0,
  payload: '{}',
  limits: [],
};
const given: Parameters = {
  ...fence,
  ...one,
  ...claim,
  ...leave,
  silence_ms: 1,
  scope: 't_1',
  of: 'dispatch',
  kind: 'pause',
  reason: '',
};

const statements: readonly (readonly [Statement<unknown>, Parameters?])[] = [
  [claimSql.claim],
  [claimSql.claimPlain],
  [
    claimSql.claimPlain,
    {
      request_ids: Array.from({ length: 64 }, () => randomUUID()),
      limits: Array(64).fill(16),
      befores: Array(64).fill(0),
    },
  ],
  [claimSql.claim, { kinds: ['plain'], limit: 1, frozen_jobs: [], frozen_leases: [] }],
  [claimSql.leasesOfRequest],
  [leaseSql.find],
  [leaseSql.lock],
  [leaseSql.held],
  [
    leaseSql.settlePlain,
    { holders: ['north'], boots: [id], hashes: [Buffer.from('')], results: ['null'], notes: [null] },
  ],
  [leaseSql.settle, { holders: ['north'], boots: [id], hashes: [Buffer.from('')], results: ['null'], notes: [null] }],
  [leaseSql.leave],
  [leaseSql.start],
  [leaseSql.beat],
  [leaseSql.acknowledge],
  [leaseSql.tellAgain],
  [leaseSql.ended],
  [sweepSql.due],
  [sweepSql.stillDue],
  [sweepSql.restoreClasses],
  [sweepSql.queuedOf, { classes: ['a'], limit: 100 }],
  [sweepSql.excludedJobs, { classes: ['a'], limit: 100 }],
  [queueSql.endQueued],
  [queueSql.flagEnd],
  [queueSql.hold],
  [queueSql.release, { laned: ['dispatch'] }],
  [laneSql.admit, { lanes: 32 }],
  [laneSql.passOn, { patience_ms: 1 }],
  [laneSql.awaited],
  [queueSql.submit, submitted],
];

describe.each([
  ['that were never analysed', undefined],
  ['that were analysed', 'analyze job'],
])('at 100,000 queued jobs %s', (_, before) => {
  beforeAll(async () => {
    if (before === undefined) return;
    const owner = farm.owner();
    await owner.run(statement('test.analyze', before)).finally(() => owner.close());
  });

  it.each(statements)('no plan of $name scans the table', async (stated, more = {}) => {
    const parameters = { ...given, ...more };
    const plans = [
      // With these values, and for any.
      await farm.database.all(explain('explain', stated), parameters),
      await farm.database.all({ name: '', text: `explain (generic_plan) ${stated.text}`, parameters: [] }),
    ];
    for (const plan of plans) expect(JSON.stringify(plan)).not.toMatch(/Seq Scan on job[ "]/);
  });
});

function explain(how: string, stated: Statement<unknown>): Statement<unknown> {
  return { name: '', text: `${how} ${stated.text}`, parameters: stated.parameters };
}
