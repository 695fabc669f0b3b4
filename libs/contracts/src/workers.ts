import { z } from 'zod';
import { contract } from './contract.js';
import { Label, Labels, PoolName, WorkerId } from './ids.js';
import { AccountOffer } from './jobs.js';
import { limits } from './limits.js';
import { outsideText } from './outside-text.js';
import { prose, storable } from './text.js';

export const WorkerView = z.strictObject({
  worker_id: WorkerId,
  name: outsideText(z.string()),
  pool: z.string(),
  /** Fixed at enrolment and not dropped since (H26). */
  labels: z.array(z.string()),
  host: outsideText(z.string()).nullable(),
  slots: z.int(),
  slot_ceiling: z.int(),
  busy: z.int(),
  /** Provider accounts of its own configuration, as it said last. */
  accounts: z.array(AccountOffer),
  state: z.enum(['live', 'paused', 'draining', 'quarantined', 'silent', 'gone']),
  note: outsideText(z.string()).nullable(),
  seen_at: z.string().nullable(),
});
export type WorkerView = z.output<typeof WorkerView>;

/** A provider account over all machines that offer it. */
export const AccountView = z.strictObject({
  account: z.string(),
  provider: z.string().nullable(),
  state: z.enum(['usable', 'paused', 'unusable', 'absent']),
  /** Names of live workers that offer it. */
  machines: z.array(outsideText(z.string())),
  busy: z.int(),
  max: z.int().nullable(),
  /** When a paused one goes on, by the farm's time. */
  resets_at: z.string().nullable(),
  note: outsideText(z.string()).nullable(),
});
export type AccountView = z.output<typeof AccountView>;

export const workerList = contract({
  name: 'worker_list',
  summary: 'The machines of the farm.',
  input: z.strictObject({}),
  output: z.strictObject({ workers: z.array(WorkerView) }),
});

const noteText = 'why, for people who look at the list';
const oneWorker = z.strictObject({ worker_id: WorkerId });

export const workerPause = contract({
  name: 'worker_pause',
  summary: 'Give a worker nothing new; what it has goes on.',
  input: z.strictObject({ worker_id: WorkerId, note: prose(255).optional().describe(noteText) }),
  output: WorkerView,
  errors: ['not_found'],
  positional: ['worker_id'],
});

export const workerResume = contract({
  name: 'worker_resume',
  summary: 'Let a paused, draining or quarantined worker work again.',
  input: oneWorker,
  output: WorkerView,
  errors: ['not_found'],
  positional: ['worker_id'],
});

export const workerDrain = contract({
  name: 'worker_drain',
  summary: 'Let a worker end its sessions, hand its work in and stop.',
  input: z.strictObject({ worker_id: WorkerId, note: prose(255).optional().describe(noteText) }),
  output: WorkerView,
  errors: ['not_found'],
  positional: ['worker_id'],
});

export const workerInvite = contract({
  name: 'worker_invite',
  summary: 'Make a join ticket for one machine: once, ten minutes.',
  input: z.strictObject({
    pool: PoolName.default('default').describe('pool that the machine belongs to'),
    project: PoolName.optional().describe('project that the machine is noted for; absent: none'),
    /** Never by the worker (H26). */
    labels: Labels.default([]).describe(
      'labels that work may ask for, such as gpu; fixed here, the machine can only drop some',
    ),
    slots: z.int().min(1).max(1024).default(4).describe('leases that it may hold at once'),
    name: storable(64).optional().describe('name of the machine in lists; absent: what it calls itself'),
  }),
  output: z.strictObject({
    /** `ls-join.<secret>.<fingerprint of the controller's key>`; shown once. */
    ticket: z.string(),
    expires_in_seconds: z.int(),
    /** The command that uses it, without the ticket. */
    command: z.string(),
  }),
});

export const quotaSet = contract({
  name: 'quota_set',
  group: 'quota',
  summary: 'Limit how much runs at once under a name: `global`, `worker:<id>`, `account:<name>`, `limit:<name>`.',
  input: z.strictObject({
    name: z
      .string()
      .max(128)
      .regex(/^(global|(worker|account|workflow|limit):[a-z0-9][a-z0-9_.:/-]*)$/)
      .describe('global, worker:<id>, account:<name>, workflow:<id> or limit:<name>'),
    max: z
      .int()
      .min(0)
      .max(1_000_000)
      .nullable()
      .describe('leases at once; with 0 nothing new starts, null lifts the limit'),
  }),
  output: z.strictObject({ name: z.string(), max: z.int().nullable() }),
  positional: ['name', 'max'],
});

export const accountList = contract({
  name: 'account_list',
  summary: 'Provider accounts: who offers them, what is limited, paused until when.',
  input: z.strictObject({}),
  output: z.strictObject({ accounts: z.array(AccountView) }),
});

export const accountResume = contract({
  name: 'account_resume',
  summary: 'Let a paused provider account work again before its time.',
  input: z.strictObject({ account: Label.describe('name of the account, as account_list shows it') }),
  output: z.strictObject({ account: z.string(), resumed: z.boolean() }),
  positional: ['account'],
});

export const status = contract({
  name: 'status',
  summary: 'The farm at a glance.',
  input: z.strictObject({}),
  output: z.strictObject({
    version: z.string(),
    farm_id: z.string(),
    /** Stands still while no controller lives (H3). */
    farm_time: z.string(),
    /** Wall time of the database less farm time, ms: what the farm has missed so far. */
    farm_time_behind_ms: z.int().optional(),
    /** False while it stands still. */
    farm_time_runs: z.boolean().optional(),
    nats: z.enum(['connected', 'away']),
    workers: z.strictObject({ live: z.int(), total: z.int(), slots: z.int(), busy: z.int() }),
    jobs: z.strictObject({ queued: z.int(), held: z.int(), leased: z.int(), dead: z.int() }),
    tasks: z.strictObject({ running: z.int(), paused: z.int(), completed: z.int(), cancelled: z.int() }),
    /** Provider accounts that machines offer, or that are limited or paused. */
    accounts: z.array(AccountView),
    attention: z
      .array(z.strictObject({ task_id: z.string().nullable(), kind: z.string(), summary: outsideText(z.string()) }))
      .max(limits.pageMax),
  }),
});
