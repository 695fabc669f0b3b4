import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { startPostgres } from '../../apps/cli/src/services/postgres.js';
import { startServices } from '../../apps/cli/src/services/services.js';
import { bullmq } from './bullmq.js';
import { graphile } from './graphile.js';
import { benchFarm, percentile } from './longshore.js';
import { pgBoss } from './pg-boss.js';
import { processorTime } from './processor-time.js';
import { rawHttp } from './raw-http.js';
import { rawSql } from './raw-sql.js';
import { type Cost, type Latency, pageOf, type Row, reportOf } from './report.js';
import type { System } from './system.js';

/** Of each system as many as a controller has. */
const connections = 20;

const { values: options } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    /** Seconds per measurement: within one, 256 calls in flight hardly come around twice, and compilers are still at it. */
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '2' },
    /** Jobs per measurement, in place of as many as go into its seconds: where the machine is busy and only the cost counts. */
    jobs: { type: 'string' },
    /** These systems and no others: names with commas between. */
    only: { type: 'string' },
    /** Claim and complete alone: what it costs, without the rest. */
    cost: { type: 'boolean', default: false },
    /** Do not write docs/benchmarks.md. */
    dry: { type: 'boolean', default: false },
  },
});
const perMeasurement = Number(options.seconds);
const rounds = Number(options.rounds);

async function main(): Promise<void> {
  const began = performance.now();
  const data = await mkdtemp(join(tmpdir(), 'longshore-bench-'));
  // Statements are counted by a module that the server loads at its start.
  const first = await startPostgres({ data });
  await query(first.url, `alter system set shared_preload_libraries = 'pg_stat_statements'`);
  await first.stop();
  const services = await startServices({ data });
  const undo: (() => Promise<unknown>)[] = [() => rm(data, { recursive: true, force: true }), () => services.stop()];
  try {
    const { ownerUrl } = services.database;
    await query(ownerUrl, 'create extension pg_stat_statements');
    const farm = await benchFarm(data, services);
    undo.push(() => farm.close());
    const inDatabase = async (name: string) => {
      await query(ownerUrl, `create database ${name}`);
      const url = new URL(ownerUrl);
      url.pathname = `/${name}`;
      return url.href;
    };
    const systems: System[] = [];
    const add = async (name: string, make: () => Promise<System | undefined>) => {
      if (options.only !== undefined && !options.only.split(',').includes(name)) return;
      const system = await make();
      if (!system) return say(`${name}: not here`);
      systems.push(system);
      undo.push(() => system.close());
    };
    await add('raw-sql-fenced', async () => rawSql(await inDatabase('raw'), connections));
    await add('raw-sql-http', async () => rawHttp(await inDatabase('raw_http'), connections));
    await add('longshore', async () => farm.plain());
    await add('longshore-claim-16', async () => farm.claim16());
    await add('longshore-two-controllers', async () => farm.byAnother());
    await add('pg-boss', async () => pgBoss(await inDatabase('boss'), connections));
    await add('graphile-worker', async () => graphile(await inDatabase('graphile'), connections, false));
    await add('graphile-worker-batched', async () => graphile(await inDatabase('batched'), connections, true));
    await add('bullmq', () => bullmq(data));
    await add('longshore-dispatch', () => farm.dispatch(48));

    const statements = new Map<string, number | null>();
    const estimates = new Map<string, number>();
    for (const system of systems) {
      // Also warms connections and plans up.
      await system.enqueue(100);
      estimates.set(system.name, 100 / (await system.work(100, 16)));
      statements.set(system.name, await statementsPerJob(ownerUrl, system));
    }
    const postgresPid = services.started.find(({ name }) => name === 'postgres')?.pid ?? 0;
    const spent = async ({ pid = farm.controller.process.pid }: System) => ({
      ...processorTime({ postgres: postgresPid, controller: pid }),
      wal: Number(await query(ownerUrl, `select pg_current_wal_insert_lsn() - '0/0'`)),
      statements: Number(await query(ownerUrl, ownStatements)),
    });
    const costs = new Map<string, Cost[]>();
    const rates = new Map<string, number[]>();
    // The first round does not count: compilers, plans and caches of all are cold in it.
    for (let round = 0; round <= rounds; round += 1) {
      for (const inFlight of [16, 256]) {
        for (const system of systems.filter((each) => each.inFlight.includes(inFlight))) {
          const count = countFor(estimates.get(system.name) ?? 100);
          await system.enqueue(count + inFlight);
          const before = await spent(system);
          const rate = count / (await system.work(count, inFlight));
          const after = await spent(system);
          estimates.set(system.name, rate);
          if (round === 0) continue;
          const key = `${system.name} ${inFlight}`;
          rates.set(key, [...(rates.get(key) ?? []), rate]);
          const cost = costOf(before, after, count);
          costs.set(key, [...(costs.get(key) ?? []), cost]);
          say(`${system.name} at ${inFlight}: ${Math.round(rate)}/s, ${JSON.stringify(cost)}`);
        }
      }
    }
    const rows: Row[] = systems.flatMap((system) =>
      system.inFlight.map((in_flight) => ({
        system: system.name,
        in_flight,
        claim_complete_per_s: Math.round(mean(rates.get(`${system.name} ${in_flight}`) ?? [])),
        statements_per_job: statements.get(system.name) ?? null,
        cost: meanCost(costs.get(`${system.name} ${in_flight}`) ?? []),
      })),
    );
    if (options.cost) {
      console.log(JSON.stringify(rows));
      return;
    }
    const latency: Latency[] = [];
    for (const system of systems) {
      if (!system.latency) continue;
      if (system.name.startsWith('longshore')) await farm.empty();
      const waited = await system.latency(100);
      const samples = waited.map(({ sinceCommitted }) => sinceCommitted);
      const whole = waited.map(({ sinceAsked }) => sinceAsked);
      latency.push({
        system: system.name,
        p50_ms: rounded(percentile(samples, 0.5)),
        p95_ms: rounded(percentile(samples, 0.95)),
        p99_ms: rounded(percentile(samples, 0.99)),
        whole_p50_ms: rounded(percentile(whole, 0.5)),
      });
      say(`${system.name}: committed to leased, p50 ${latency.at(-1)?.p50_ms} ms`);
    }
    const few = await farm.claimP99(1_000, 300);
    const ratio = (await farm.claimP99(100_000, 300)) / few;
    const report = reportOf(rows, latency, ratio);
    const postgres = await query(ownerUrl, 'show server_version');
    const page = pageOf(report, { seconds: (performance.now() - began) / 1000, postgres });
    if (!options.dry && options.only === undefined) {
      await writeFile(new URL('../../docs/benchmarks.md', import.meta.url), page);
    }
    console.log(options.json ? JSON.stringify(report) : page);
  } finally {
    for (const act of undo.reverse()) await act().catch((error: unknown) => say(`while stopping: ${String(error)}`));
  }
}

function countFor(rate: number): number {
  if (options.jobs !== undefined) return Number(options.jobs);
  return Math.max(64, Math.min(20_000, Math.round(rate * perMeasurement)));
}

interface Spent {
  readonly postgres: number;
  readonly controller: number;
  readonly driver: number;
  readonly wal: number;
  readonly statements: number;
}

/** All databases: one system works at a time. */
const ownStatements = `select coalesce(sum(calls), 0) from pg_stat_statements where query !~* '^(begin|commit|rollback|set |start )'`;

function costOf(before: Spent, after: Spent, jobs: number): Cost {
  const each = (of: keyof Spent) => (after[of] - before[of]) / jobs;
  return {
    postgres_ms: rounded(each('postgres')),
    controller_ms: rounded(each('controller')),
    driver_ms: rounded(each('driver')),
    wal_bytes: Math.round(each('wal')),
    statements: rounded(each('statements')),
  };
}

function meanCost(all: readonly Cost[]): Cost {
  const of = (name: keyof Cost) => rounded(mean(all.map((cost) => cost[name])));
  return {
    postgres_ms: of('postgres_ms'),
    controller_ms: of('controller_ms'),
    driver_ms: of('driver_ms'),
    wal_bytes: of('wal_bytes'),
    statements: of('statements'),
  };
}

/** Calls of statements divided by jobs at one in flight, without what begins and ends transactions. */
async function statementsPerJob(ownerUrl: string, system: System): Promise<number | null> {
  if (system.database === undefined) return null;
  const jobs = 40;
  await system.enqueue(jobs);
  await query(ownerUrl, 'select pg_stat_statements_reset()');
  await system.work(jobs, 1);
  const name = new URL(system.database).pathname.slice(1);
  const calls = await query(
    ownerUrl,
    `select coalesce(sum(calls), 0) from pg_stat_statements s join pg_database d on d.oid = s.dbid
     where datname = '${name}' and query !~* '^(begin|commit|rollback|set |start )'`,
  );
  return rounded(Number(calls) / jobs);
}

async function query(url: string, text: string): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<Record<string, unknown>>(text);
    return String(Object.values(rows[0] ?? {})[0] ?? '');
  } finally {
    await client.end();
  }
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}

function say(line: string): void {
  console.error(line);
}

await main();
