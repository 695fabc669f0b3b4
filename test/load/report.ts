import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { machine } from './machine.js';

export interface Row {
  readonly system: string;
  readonly in_flight: number;
  readonly claim_complete_per_s: number;
  readonly statements_per_job: number | null;
  readonly cost: Cost;
}
/** Of one job under load: processor time of each part, what PostgreSQL writes ahead, statements. */
export interface Cost {
  readonly postgres_ms: number;
  readonly controller_ms: number;
  readonly driver_ms: number;
  readonly wal_bytes: number;
  readonly statements: number;
}
export interface Latency {
  readonly system: string;
  readonly p50_ms: number;
  readonly p95_ms: number;
  readonly p99_ms: number;
  /** From the beginning of the call that queues. */
  readonly whole_p50_ms: number;
}
export interface Report {
  readonly rows: readonly Row[];
  readonly latency: readonly Latency[];
  readonly queued_100k: { readonly claim_p99_ratio: number };
  readonly ratios: Readonly<Record<string, number>>;
}

/** Design §11: what must hold, by name of the ratio. */
export const bars: readonly {
  readonly ratio: string;
  readonly says: string;
  readonly holds: (value: number) => boolean;
}[] = [
  { ratio: 'raw_16', says: 'one job per call, whole path, 16 in flight ≥ 0.4 × raw', holds: (value) => value >= 0.4 },
  { ratio: 'raw_256', says: 'the same at 256 in flight ≥ 0.5 × raw', holds: (value) => value >= 0.5 },
  { ratio: 'claim_16', says: 'claiming 16 at a time ≥ 1 × raw', holds: (value) => value >= 1 },
  { ratio: 'pg_boss', says: 'ahead of pg-boss as it comes', holds: (value) => value > 1 },
  { ratio: 'graphile_worker', says: 'ahead of graphile-worker as it comes', holds: (value) => value > 1 },
  { ratio: 'latency_p50_ms', says: 'committed → leased p50 ≤ 5 ms', holds: (value) => value <= 5 },
  { ratio: 'latency_p99_ms', says: 'committed → leased p99 ≤ 25 ms', holds: (value) => value <= 25 },
  { ratio: 'latency_graphile', says: 'p50 ≤ graphile-worker’s', holds: (value) => value <= 1 },
  { ratio: 'queued_100k', says: 'claim p99 at 100,000 queued ≤ 1.5 × that at 1,000', holds: (value) => value <= 1.5 },
];

export function reportOf(rows: readonly Row[], latency: readonly Latency[], claimRatio: number): Report {
  const rate = (system: string, inFlight: number) => rateOf(rows, system, inFlight);
  const best = (system: string) => Math.max(rate(system, 16), rate(system, 256));
  const ours = latency.find((row) => row.system === 'longshore');
  const theirs = latency.find((row) => row.system === 'graphile-worker');
  const round = (value: number) => Math.round(value * 1000) / 1000;
  const ratios = {
    raw_16: rate('longshore', 16) / rate('raw-sql-fenced', 16),
    raw_256: rate('longshore', 256) / rate('raw-sql-fenced', 256),
    claim_16: best('longshore-claim-16') / best('raw-sql-fenced'),
    raw_http_16: rate('longshore', 16) / rate('raw-sql-http', 16),
    raw_http_256: rate('longshore', 256) / rate('raw-sql-http', 256),
    dispatch_16: rate('longshore-dispatch', 16) / rate('raw-sql-fenced', 16),
    pg_boss: best('longshore') / best('pg-boss'),
    graphile_worker: best('longshore') / best('graphile-worker'),
    latency_p50_ms: ours?.p50_ms ?? Number.NaN,
    latency_p99_ms: ours?.p99_ms ?? Number.NaN,
    latency_graphile: (ours?.p50_ms ?? Number.NaN) / (theirs?.p50_ms ?? Number.NaN),
    queued_100k: claimRatio,
  };
  return {
    rows,
    latency,
    queued_100k: { claim_p99_ratio: round(claimRatio) },
    ratios: Object.fromEntries(Object.entries(ratios).map(([name, value]) => [name, round(value)])),
  };
}

const Package = z.looseObject({ version: z.string() });
const versionOf = (name: string) =>
  Package.parse(JSON.parse(readFileSync(new URL(`../../node_modules/${name}/package.json`, import.meta.url), 'utf8')))
    .version;

/** The page that the command writes. Ratios first: numbers of one machine say nothing of another. */
export function pageOf(report: Report, run: { readonly seconds: number; readonly postgres: string }): string {
  const { rows, latency, ratios } = report;
  return `# Benchmarks

Written by \`npm run bench:jobs\`; do not edit. Ratios within one run are what counts: one PostgreSQL with fsync on, systems in turn
(A-B-A-B), the driver on the same machine.

Machine: ${machine()}, ${process.platform} ${process.arch}.
Versions: Node ${process.versions.node}, PostgreSQL ${run.postgres}, pg-boss ${versionOf('pg-boss')}, graphile-worker ${versionOf('graphile-worker')}, bullmq ${versionOf('bullmq')}.
The run took ${Math.round(run.seconds)} s.

## What must hold

| bar | measured | holds |
|---|---|---|
${bars.map(({ ratio, says, holds }) => `| ${says} | ${shown(ratios[ratio])} | ${holds(ratios[ratio] ?? Number.NaN) ? 'yes' : 'no'} |`).join('\n')}

## Claim and complete

\`longshore\` is the whole path: HTTP, token, gate, audit, SQL, one job per call. \`longshore-claim-16\` claims 16 at a time and completes each
with a call of its own. \`longshore-dispatch\` are Dispatches of Tasks, each completion opening the next. \`raw-sql-fenced\` is one statement per
call through the driver, without any of it; \`raw-sql-http\` are the same statements behind the plainest HTTP server of Node, with JSON and
nothing else: what is left of a controller when all that makes it one is taken away. Redis answers before its write is on disk.

| system | in flight | jobs/s | × raw | × raw behind HTTP | statements per job |
|---|---|---|---|---|---|
${rows.map((row) => `| ${row.system} | ${row.in_flight} | ${Math.round(row.claim_complete_per_s)} | ${shown(row.claim_complete_per_s / rateOf(rows, 'raw-sql-fenced', row.in_flight))} | ${shown(row.claim_complete_per_s / rateOf(rows, 'raw-sql-http', row.in_flight))} | ${row.statements_per_job === null ? '–' : shown(row.statements_per_job)} |`).join('\n')}

## What a job costs under load

Processor time in milliseconds, of the server with all its backends, of the controller with its sweeps (of the HTTP server for
\`raw-sql-http\`), and of the driver; then what PostgreSQL writes ahead, and
statements. Unlike the rates these stay nearly the same on a machine that is busy with something else.

| system | in flight | PostgreSQL | controller | driver | WAL bytes | statements |
|---|---|---|---|---|---|---|
${rows.map(({ system, in_flight, cost }) => `| ${system} | ${in_flight} | ${shown(cost.postgres_ms)} | ${shown(cost.controller_ms)} | ${shown(cost.driver_ms)} | ${cost.wal_bytes} | ${shown(cost.statements)} |`).join('\n')}

## From committed to leased, on an idle queue

From the moment that whoever queued the job has its answer, to that in which the worker has the lease in hand. \`longshore\` queues by
its operation, on the controller on which the worker waits; \`longshore-two-controllers\` on another, which tells this one by NATS.
Nothing where the worker has it before that answer: \`longshore\` leases in the transaction that queues, which takes longer by that. So
the last column counts from the beginning of the call that queues.

| system | p50 ms | p95 ms | p99 ms | whole p50 ms |
|---|---|---|---|---|
${latency.map((row) => `| ${row.system} | ${shown(row.p50_ms)} | ${shown(row.p95_ms)} | ${shown(row.p99_ms)} | ${shown(row.whole_p50_ms)} |`).join('\n')}
`;
}

function rateOf(rows: readonly Row[], system: string, inFlight: number): number {
  const row = rows.find((each) => each.system === system && each.in_flight === inFlight);
  return row?.claim_complete_per_s ?? Number.NaN;
}

function shown(value: number | undefined): string {
  return value === undefined || Number.isNaN(value) ? '–' : value.toFixed(2);
}
