import { type LeasedJob, limits } from '#contracts';
import { type Parameters, sentTogether, type Transaction } from '#store';
import { distinct, lockScope, type QueueContext } from './context.js';
import type { Claimer, JobRow } from './job.js';
import type { ClaimRequest, SharedClaim } from './queue.js';
import { type ClaimedRow, claimSql } from './sql/claim.js';
import { leaseSql } from './sql/lease.js';
import { loseIfDue } from './sweep.js';

/** Heads of a class that are looked at beyond those asked for, as other claimers hold some. */
const spare = 32;
/** Virtual time goes in steps of so many turns: a write for every fourth claim of one key at most. */
const turnStep = 4;
/** When all that was seen was in other hands. */
const rounds = 3;

export async function claim(
  context: QueueContext,
  tx: Transaction,
  claimer: Claimer,
  request: ClaimRequest,
): Promise<readonly LeasedJob[]> {
  const frozen = request.frozen ?? [];
  await tx.run(claimSql.lockClaimer, { worker: claimer.worker });
  await lockFrozen(context, tx, claimer, frozen);
  const asked: Parameters = {
    ...offered(context, claimer),
    request_id: request.request_id,
    frozen_jobs: frozen.map((lease) => lease.job_id),
    frozen_leases: frozen.map((lease) => lease.lease_id),
    nothing_new: request.nothing_new ?? false,
    spare,
  };
  const rows = await take(tx, asked, request.limit);
  advanceTurns(context, tx, claimer.pool, rows);
  await tellContinued(context, tx, rows);
  return rows.map((row) => leased(context, claimer, row));
}

/**
 * All waiting ends before the first job is locked (H12): who holds the second machine's lock may wait for a job of the first, and
 * the first one's leases would run meanwhile. In one order, as another group may ask for the same.
 */
export async function claimTogether(
  context: QueueContext,
  tx: Transaction,
  claims: readonly SharedClaim[],
): Promise<readonly (readonly (readonly LeasedJob[] | undefined)[])[]> {
  const workers = new Set(claims.map(({ claimer }) => claimer.worker));
  for (const worker of [...workers].sort()) tx.later(claimSql.lockClaimer, { worker });
  return await sentTogether(claims.map((shared) => claimPlain(context, tx, shared)));
}

/** Nothing for a request where something is limited, repeated or in other hands: `claim` decides. */
async function claimPlain(
  context: QueueContext,
  tx: Transaction,
  { claimer, requests }: SharedClaim,
): Promise<readonly (readonly LeasedJob[] | undefined)[]> {
  const asked = distinct(requests, ({ request_id }) => request_id);
  let places = 0;
  const befores = asked.map(({ limit }) => {
    const before = places;
    places += limit;
    return before;
  });
  const rows = await tx.all(claimSql.claimPlain, {
    ...offered(context, claimer),
    request_ids: asked.map(({ request_id }) => request_id),
    limits: asked.map(({ limit }) => limit),
    befores,
    places,
  });
  const leases = rows.filter(isLease);
  advanceTurns(context, tx, claimer.pool, leases);
  const given = Map.groupBy(leases, ({ request_id }) => request_id);
  const [found] = rows;
  const nothingLeft = found?.clear === true && (!found.more || leases.length >= found.room);
  const first = new Set(asked);
  return requests.map((request) => {
    const rows = first.has(request) ? given.get(request.request_id) : undefined;
    if (!rows && !(nothingLeft && first.has(request))) return undefined;
    return (rows ?? []).map((row) => leased(context, claimer, row));
  });
}

/** What every claim says of who asks. */
function offered({ leaseMs }: QueueContext, claimer: Claimer): Parameters {
  return {
    worker: claimer.worker,
    boot: claimer.boot,
    pool: claimer.pool,
    labels: claimer.labels,
    accounts: claimer.accounts,
    slots: claimer.slots,
    kinds: claimer.kinds ?? null,
    lease_ms: leaseMs,
  };
}

/** How far turns have come, for the keys that come next. In steps, with the commit: no claim waits for another's. */
function advanceTurns(context: QueueContext, tx: Transaction, pool: string, rows: readonly Turned[]): void {
  const turns = rows.filter((row) => !row.continues).map((row) => row.turn);
  if (turns.length === 0) return;
  const turn = Math.max(...turns);
  const known = context.turns.get(pool) ?? Number.NEGATIVE_INFINITY;
  if (turn < known + turnStep) return;
  // Noted before the commit, so that claims side by side do not all write it; one that is undone is made up for by the next step.
  context.turns.set(pool, turn);
  tx.later(claimSql.advance, { pool, turn });
}

async function take(tx: Transaction, asked: Parameters, limit: number): Promise<readonly LeaseRow[]> {
  for (let round = 0; round < rounds; round += 1) {
    const rows = await tx.all(claimSql.claim, { ...asked, limit, offset: 0, locked: false });
    const [found] = rows;
    if (found?.limited) return takeUnderLimits(tx, asked, limit);
    if (found?.repeated) return (await tx.all(claimSql.leasesOfRequest, asked)).filter(isLease);
    const leases = rows.filter(isLease);
    if (leases.length > 0 || !found?.seen) return leases;
  }
  return [];
}

/** One at a time, so that each sees what the one before has used of the limits. */
async function takeUnderLimits(tx: Transaction, asked: Parameters, limit: number): Promise<readonly LeaseRow[]> {
  await tx.run(claimSql.lockLimits);
  const leases: LeaseRow[] = [];
  while (leases.length < limit) {
    const rows = await tx.all(claimSql.claim, { ...asked, limit: 1, offset: leases.length, locked: true });
    if (rows[0]?.repeated && leases.length === 0) {
      return (await tx.all(claimSql.leasesOfRequest, asked)).filter(isLease);
    }
    const [lease] = rows.filter(isLease);
    if (!lease) break;
    leases.push(lease);
  }
  return leases;
}

type LeaseRow = ClaimedRow & { readonly lease_id: string };
type Granted = Omit<LeaseRow, 'repeated' | 'limited' | 'seen' | 'counted'>;
type Turned = Pick<ClaimedRow, 'turn' | 'continues'>;

function isLease<Row extends { readonly lease_id: string | null }>(
  row: Row,
): row is Row & { readonly lease_id: string } {
  return row.lease_id !== null;
}

/**
 * Scopes of the frozen jobs come before the claim locks any job (H12), sorted, as another claim may ask for the same. A lease of
 * them that has ended but was not swept yet is lost here, so that the job is not another's before its own machine gets it.
 */
async function lockFrozen(
  context: QueueContext,
  tx: Transaction,
  claimer: Claimer,
  frozen: NonNullable<ClaimRequest['frozen']>,
): Promise<void> {
  if (frozen.length === 0) return;
  const jobs: JobRow[] = [];
  for (const { job_id, lease_id } of frozen) {
    const job = await tx.first(leaseSql.find, { job_id });
    if (job?.lease_id === lease_id && job.holder === claimer.worker && job.boot === claimer.boot) jobs.push(job);
  }
  jobs.sort((a, b) => order(a.scope ?? '', b.scope ?? '') || order(a.id, b.id));
  for (const job of jobs) await lockScope(context, tx, job);
  for (const job of jobs) await loseIfDue(context, tx, job);
}

function order(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

async function tellContinued(context: QueueContext, tx: Transaction, rows: readonly LeaseRow[]): Promise<void> {
  for (const row of rows) {
    const kind = context.kinds.get(row.kind);
    if (!row.counted || !kind?.onContinued) continue;
    const job = await tx.first(leaseSql.find, { job_id: row.id });
    if (job) await kind.onContinued(tx, job);
  }
}

function leased(context: QueueContext, { worker }: Claimer, row: Granted): LeasedJob {
  const { id, kind, epoch, lease_id, lease_ms, continues, payload } = row;
  const token = context.mintJobToken({ job: id, epoch, lease_id, kind, worker, lease_ms });
  return {
    id,
    kind,
    epoch,
    lease_id,
    lease_ms,
    heartbeat_ms: beatEvery(context.leaseMs),
    token,
    continues,
    payload,
  };
}

/** Three beats to a lease, as 10 s to 30 s. */
function beatEvery(leaseMs: number): number {
  return Math.max(1, Math.floor((leaseMs * limits.heartbeatMs) / limits.leaseMs));
}
