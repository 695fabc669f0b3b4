import pg from 'pg';
import { type Parameters, type Statement, valuesOf } from './statement.js';

declare module 'pg' {
  interface ClientConfig {
    /** Sends statements without waiting for the answers before; not yet in the package's types. */
    pipeline?: boolean;
  }
}

/** int8 as a number: epochs, sequences and counts stay far below 2^53 (S2.4). */
pg.types.setTypeParser(pg.types.builtins.INT8, Number);

/** What runs statements: a transaction, or the database itself for statements that stand alone. */
export interface Queries {
  /** All rows. */
  all<Row>(stated: Statement<Row>, given?: Parameters): Promise<readonly Row[]>;
  /** The first row, or nothing. */
  first<Row>(stated: Statement<Row>, given?: Parameters): Promise<Row | undefined>;
  /** How many rows were written. */
  run(stated: Statement<unknown>, given?: Parameters): Promise<number>;
}

/** READ COMMITTED (D26: any other level, and any one statement that waits, accepts an expired lease). */
export interface Transaction extends Queries {
  /** Sent at once, awaited with the commit: one round trip less. If it fails, nothing of the transaction stays. */
  later(stated: Statement<unknown>, given?: Parameters): void;
  /**
   * Undoes what `work` did when it throws, its rings too, and goes on without it (H13). What it sent for later and fails then is the
   * transaction's failure.
   */
  attempt<T>(work: () => Promise<T>): Promise<T | undefined>;
  /** Runs when all else is done, with what the commit will hold; what throws here undoes the transaction. */
  beforeCommit(act: () => Promise<void>): void;
  /** Runs once the commit is durable; never when it is not. For rings: what throws here is lost. */
  afterCommit(act: () => void): void;
  /** Runs when nothing was committed, or nobody knows whether. What throws here is lost. */
  afterFailure(act: () => void): void;
}

export interface Database extends Queries {
  /** Commits what `work` did, or nothing of it. A serialisation or deadlock failure is not retried here. */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  /** The same, but PostgreSQL refuses to write (A2.11). */
  reading<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  /** A connection of its own for as long as `work` runs: session advisory locks. */
  session<T>(work: (queries: Queries) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

interface DatabaseOptions {
  readonly url: string;
  /** Connections at most; default 10. */
  readonly max?: number;
  readonly applicationName?: string;
  /** A connection that broke while nobody used it; the pool replaces it. */
  readonly onIdleError?: (error: Error) => void;
}

/**
 * A connection that nobody uses is kept for so long: it makes its plans when it first runs a statement, and a first claim takes some
 * five times as long as the next.
 */
const idleMs = 600_000;

/** What people look for by this filter or that is planned for what they ask. */
const beginReading = 'begin read only; set local plan_cache_mode = auto';

class PoolDatabase implements Database {
  constructor(private readonly pool: pg.Pool) {}

  async all<Row>(stated: Statement<Row>, given: Parameters = {}): Promise<readonly Row[]> {
    return (await this.pool.query<Row & pg.QueryResultRow>(queryOf(stated, given))).rows;
  }

  async first<Row>(stated: Statement<Row>, given: Parameters = {}): Promise<Row | undefined> {
    return (await this.all(stated, given))[0];
  }

  async run(stated: Statement<unknown>, given: Parameters = {}): Promise<number> {
    return (await this.pool.query(queryOf(stated, given))).rowCount ?? 0;
  }

  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.within('begin', work);
  }

  reading<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.within(beginReading, work);
  }

  async session<T>(work: (queries: Queries) => Promise<T>): Promise<T> {
    const client = await this.pool.connect();
    let broken = true;
    try {
      const answer = await work(new ClientQueries(client));
      await client.query('select pg_advisory_unlock_all()');
      broken = false;
      return answer;
    } finally {
      // Session locks end with the connection, whatever `work` left.
      client.release(broken);
    }
  }

  close(): Promise<void> {
    return this.pool.end();
  }

  private async within<T>(begin: string, work: (tx: Transaction) => Promise<T>): Promise<T> {
    const client = await this.pool.connect();
    const tx = new ClientTransaction(client, begin);
    let broken = true;
    try {
      const answer = await work(tx);
      await tx.commit();
      broken = false;
      tx.ring();
      return answer;
    } catch (error) {
      broken = await tx.rollback();
      tx.fail();
      throw await tx.firstFailure(error);
    } finally {
      client.release(broken);
    }
  }
}

class ClientQueries implements Queries {
  constructor(protected readonly client: pg.PoolClient) {}

  async all<Row>(stated: Statement<Row>, given: Parameters = {}): Promise<readonly Row[]> {
    cork(this.client);
    return (await this.client.query<Row & pg.QueryResultRow>(queryOf(stated, given))).rows;
  }

  async first<Row>(stated: Statement<Row>, given: Parameters = {}): Promise<Row | undefined> {
    return (await this.all(stated, given))[0];
  }

  async run(stated: Statement<unknown>, given: Parameters = {}): Promise<number> {
    cork(this.client);
    return (await this.client.query(queryOf(stated, given))).rowCount ?? 0;
  }
}

class ClientTransaction extends ClientQueries implements Transaction {
  /** Sent and not awaited yet: BEGIN, and what may come with the commit. The connection is pipelined. */
  private readonly pending: Promise<unknown>[] = [];
  private readonly lastActs: (() => Promise<void>)[] = [];
  private readonly rings: (() => void)[] = [];
  private readonly failures: (() => void)[] = [];

  constructor(client: pg.PoolClient, begin: string) {
    super(client);
    cork(client);
    this.send(client.query(begin));
  }

  later(stated: Statement<unknown>, given: Parameters = {}): void {
    cork(this.client);
    this.send(this.client.query(queryOf(stated, given)));
  }

  async attempt<T>(work: () => Promise<T>): Promise<T | undefined> {
    const { length } = this.rings;
    cork(this.client);
    this.send(this.client.query('savepoint attempt'));
    try {
      return await work();
    } catch {
      await this.client.query('rollback to savepoint attempt');
      this.rings.splice(length);
      return undefined;
    }
  }

  beforeCommit(act: () => Promise<void>): void {
    this.lastActs.push(act);
  }

  afterCommit(act: () => void): void {
    this.rings.push(act);
  }

  afterFailure(act: () => void): void {
    this.failures.push(act);
  }

  async commit(): Promise<void> {
    for (const act of this.lastActs) await act();
    cork(this.client);
    const committed = this.client.query('commit');
    committed.catch(ignore);
    await Promise.all(this.pending);
    // A transaction that failed half-way answers COMMIT with ROLLBACK and no error.
    const { command } = await committed;
    if (command !== 'COMMIT') throw new Error('the transaction was rolled back by PostgreSQL');
  }

  /** A statement after one that failed is told only that the transaction is aborted: what failed before says why. */
  async firstFailure(error: unknown): Promise<unknown> {
    const sent = await Promise.allSettled(this.pending);
    return sent.find((outcome) => outcome.status === 'rejected')?.reason ?? error;
  }

  /** True when the connection is of no more use. */
  async rollback(): Promise<boolean> {
    try {
      await this.client.query('rollback');
      return false;
    } catch {
      return true;
    }
  }

  ring(): void {
    for (const act of this.rings) runAlone(act);
  }

  fail(): void {
    for (const act of this.failures) runAlone(act);
  }

  private send(sent: Promise<unknown>): void {
    sent.catch(ignore);
    this.pending.push(sent);
  }
}

/**
 * What one turn of the event loop sends goes out in one write: BEGIN with the first statement, statements that are sent together,
 * the audit row with COMMIT.
 */
function cork({ connection: { stream } }: pg.PoolClient): void {
  if (stream.writableCorked > 0) return;
  stream.cork();
  process.nextTick(() => stream.uncork());
}

/** What one throws keeps no other from running, and is no failure of what was committed. */
function runAlone(act: () => void): void {
  try {
    act();
  } catch {
    // It is lost, as whoever may throw was told.
  }
}

/** The failure is read where the promise is awaited; here it only must not end the process. */
function ignore(): void {}

function queryOf(stated: Statement<unknown>, given: Parameters): pg.QueryConfig {
  return { name: stated.name, text: stated.text, values: [...valuesOf(stated, given)] };
}

/** A pool of connections as one database role. Nothing is connected before the first statement. */
export function openDatabase({
  url,
  max = 10,
  applicationName = 'longshore',
  onIdleError = ignore,
}: DatabaseOptions): Database {
  const pool = new pg.Pool({
    connectionString: url,
    max,
    application_name: applicationName,
    pipeline: true,
    idleTimeoutMillis: idleMs,
    // Nor does it keep a process from ending.
    allowExitOnIdle: true,
    // One plan per statement, for any values: the values would have hundreds of plans made, and those for long arrays read the
    // whole of a table that is small at that moment, and go on to when it is large.
    options: '-c plan_cache_mode=force_generic_plan',
    keepAlive: true,
  });
  pool.on('error', onIdleError);
  // A connection that breaks while it is in use fails the statement that waits; without a listener it would end the process.
  pool.on('connect', (client) => client.on('error', ignore));
  return new PoolDatabase(pool);
}
