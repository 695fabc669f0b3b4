import { z } from 'zod';
import { AccountOffer, FarmError, limits, type WorkerReport, type WorkerView } from '#contracts';
import type { Database, Queries, Transaction } from '#store';
import type { WorkerPrincipal } from '../principal.js';
import { gateSql, type WorkerRow } from '../sql/gate.js';
import { RecentRows } from './recent-rows.js';

/** How old a worker's row may be that a call is judged by: a pause is felt by other controllers after so long. */
const momentMs = 500;

/** A worker that is heard now, as a ring or a claim sees it. */
export interface LiveWorker extends WorkerPrincipal {
  readonly name: string;
  readonly busy: number;
  /** Accounts that it has and can not use now, each with its reason. */
  readonly unusable: readonly AccountOffer[];
}

export interface BeatAnswer {
  readonly drain: boolean;
  readonly paused: boolean;
  readonly quarantined?: string;
  /** Of a worker's beat alone. */
  readonly config_version?: number;
}

const Accounts = z.array(AccountOffer).catch([]);
const Failures = z.array(z.string()).catch([]);

/** The machines of the farm: rows that their beats, people and the farm itself write. */
export class Workers {
  private readonly recent: RecentRows<WorkerRow | undefined>;
  /** One object for all calls that are judged by one reading of the row. */
  private readonly principals = new WeakMap<WorkerRow, WorkerPrincipal>();

  constructor(
    private readonly database: Database,
    private readonly leaseMs: number,
  ) {
    this.recent = new RecentRows((id) => this.database.first(gateSql.worker, { id, lease_ms: this.leaseMs }), momentMs);
  }

  /**
   * The worker that a token names, if its boot still holds the identity. Errors: FarmError unauthenticated for a worker that is
   * no more; identity_in_use, naming the host of the boot that holds it (D16).
   */
  async principal(id: string, boot: string): Promise<WorkerPrincipal> {
    const row = await this.recent.get(id);
    if (!row) throw new FarmError('unauthenticated');
    if (row.boot !== boot) throw identityInUse(row.host);
    const known = this.principals.get(row);
    if (known) return known;
    const principal = principalOf(row, boot);
    this.principals.set(row, principal);
    return principal;
  }

  /** Another process may have the identity only when this one is gone. Errors: FarmError identity_in_use (D16). */
  async takeIdentity(id: string, boot: string, host: string | undefined): Promise<void> {
    const taken = await this.database.first(gateSql.takeIdentity, {
      id,
      boot,
      host: host ?? null,
      lease_ms: this.leaseMs,
    });
    this.recent.forget(id);
    if (taken) return;
    const row = await this.database.first(gateSql.worker, { id, lease_ms: this.leaseMs });
    if (!row) throw new FarmError('unauthenticated');
    throw identityInUse(row.host);
  }

  /** What a worker says of itself. Errors: FarmError identity_in_use. */
  async recordBeat(queries: Queries, worker: WorkerPrincipal, report: WorkerReport): Promise<BeatAnswer> {
    const { slots, busy, labels, accounts, versions, load, host, refuses, goodbye } = report;
    const row = await queries.first(gateSql.beat, {
      id: worker.id,
      boot: worker.boot,
      slots,
      busy,
      labels: [...labels],
      accounts: JSON.stringify(accounts),
      versions: JSON.stringify(versions),
      load: load ?? null,
      host: host ?? null,
      refuses: refuses ?? null,
      goodbye: goodbye ?? false,
    });
    this.recent.forget(worker.id);
    if (!row) throw identityInUse(null);
    return {
      drain: row.draining,
      paused: row.paused,
      config_version: row.config_version,
      ...(row.quarantine_reason !== null && { quarantined: row.quarantine_reason }),
    };
  }

  /** A machine's own failure, by the scope of the job it could not run. Answers whether it is in quarantine now (H11). */
  async recordEnvironmentFailure(tx: Transaction, id: string, scope: string, reason: string): Promise<boolean> {
    const row = await tx.first(gateSql.environmentFailure, {
      id,
      scope,
      reason,
      most: limits.environmentFailuresToQuarantine,
    });
    tx.afterCommit(() => this.recent.forget(id));
    return row?.quarantined ?? false;
  }

  /**
   * Jobs that ran: their machines' failures are no longer in a row. Costs nothing for machines without any. In one order, as another
   * transaction may clear some of the same (H12).
   */
  clearEnvironmentFailures(tx: Transaction, ids: readonly string[]): void {
    for (const id of [...new Set(ids)].sort()) {
      const row = this.recent.last(id);
      if (!row || Failures.parse(row.environment_failures).length === 0) continue;
      tx.later(gateSql.environmentSuccess, { id });
      tx.afterCommit(() => this.recent.forget(id));
    }
  }

  /** Who can be rung: heard within a lease time and not gone. */
  async live(queries: Queries): Promise<readonly LiveWorker[]> {
    const rows = await queries.all(gateSql.liveWorkers, { lease_ms: this.leaseMs });
    return rows.map((row) => ({
      ...principalOf(row, row.boot ?? ''),
      name: row.name,
      busy: row.busy,
      unusable: offersOf(row).filter(({ usable }) => !usable),
    }));
  }

  async list(queries: Queries): Promise<readonly WorkerView[]> {
    return (await queries.all(gateSql.workers, { lease_ms: this.leaseMs })).map(viewOf);
  }

  /** Errors: FarmError not_found. */
  async view(queries: Queries, id: string): Promise<WorkerView> {
    const row = await queries.first(gateSql.worker, { id, lease_ms: this.leaseMs });
    if (!row) throw new FarmError('not_found', 'There is no such worker');
    return viewOf(row);
  }

  pause(tx: Transaction, id: string, note: string | undefined): Promise<WorkerView> {
    return this.rule(tx, id, () => tx.run(gateSql.pauseWorker, { id, note: note ?? null }));
  }

  drain(tx: Transaction, id: string, note: string | undefined): Promise<WorkerView> {
    return this.rule(tx, id, () => tx.run(gateSql.drainWorker, { id, note: note ?? null }));
  }

  /** Ends pause, drain and quarantine. */
  resume(tx: Transaction, id: string): Promise<WorkerView> {
    return this.rule(tx, id, () => tx.run(gateSql.resumeWorker, { id }));
  }

  private async rule(tx: Transaction, id: string, write: () => Promise<number>): Promise<WorkerView> {
    await write();
    tx.afterCommit(() => this.recent.forget(id));
    return await this.view(tx, id);
  }
}

function principalOf(row: WorkerRow, boot: string): WorkerPrincipal {
  const offers = offersOf(row).filter(({ usable }) => usable);
  return {
    kind: 'worker',
    id: row.id,
    boot,
    pool: row.pool,
    labels: effectiveLabels(row),
    accounts: offers.map(({ name }) => name),
    offers,
    slots: row.slots ?? row.slot_ceiling,
    accepting:
      row.paused_at === null && row.draining_at === null && row.quarantined_at === null && row.goodbye_at === null,
  };
}

/** A worker may only drop labels: what it announces beyond its enrolment is not heard (H26). */
function effectiveLabels({ labels, announced_labels }: WorkerRow): readonly string[] {
  return announced_labels === null ? labels : labels.filter((label) => announced_labels.includes(label));
}

/** Where the enrolment names providers, accounts of others are not heard (H26). */
function offersOf({ accounts, labels }: WorkerRow): AccountOffer[] {
  const said = Accounts.parse(accounts);
  const fixed = labels.filter((label) => label.startsWith('provider:'));
  return fixed.length === 0 ? said : said.filter(({ provider }) => fixed.includes(`provider:${provider}`));
}

function viewOf(row: WorkerRow): WorkerView {
  return {
    worker_id: row.id,
    name: row.name,
    pool: row.pool,
    labels: [...effectiveLabels(row)],
    host: row.host,
    slots: row.slots ?? row.slot_ceiling,
    slot_ceiling: row.slot_ceiling,
    busy: row.busy,
    accounts: offersOf(row),
    state: stateOf(row),
    note: row.note ?? row.quarantine_reason ?? row.refuses,
    seen_at: row.seen_wall_at?.toISOString() ?? null,
  };
}

function stateOf(row: WorkerRow): WorkerView['state'] {
  if (row.goodbye_at !== null) return 'gone';
  if (row.boot === null || !row.live || !row.heard) return 'silent';
  if (row.quarantined_at !== null) return 'quarantined';
  if (row.draining_at !== null) return 'draining';
  return row.paused_at === null ? 'live' : 'paused';
}

function identityInUse(host: string | null): FarmError {
  const where = host === null ? 'another process' : `a process on ${host}`;
  return new FarmError('identity_in_use', `The identity of this worker is held by ${where}`, {
    hint: 'Stop that one, or give this machine an identity of its own with a join ticket.',
  });
}
