import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type RunningController, startController } from '../../apps/cli/src/farm/controller-process.js';
import { type Services, startServices } from '../../apps/cli/src/services/services.js';
import { percentile } from './longshore.js';
import { machine } from './machine.js';
import { say } from './say.js';

const { values: options } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    /** Starts that are counted; the first of all, which also migrates, stands apart. */
    starts: { type: 'string', default: '5' },
    /** Seconds that each one idles before its memory is read. */
    idle: { type: 'string', default: '20' },
    /** Do not write docs/benchmarks-controller.md. */
    dry: { type: 'boolean', default: false },
  },
});
const bars = { ready_ms: 3_000, idle_mib: 200 };

interface Start {
  /** From the start of its process to its word that it listens; PostgreSQL and NATS run already. */
  readonly ready_ms: number;
  /** Resident, after it has idled. */
  readonly idle_mib: number;
}

async function main(): Promise<void> {
  const data = await mkdtemp(join(tmpdir(), 'longshore-bench-'));
  const services = await startServices({ data });
  try {
    say('the first start, which migrates');
    const first = await measure(data, services);
    const starts: Start[] = [];
    for (let n = 1; n <= Number(options.starts); n += 1) {
      say(`start ${n} of ${options.starts}`);
      starts.push(await measure(data, services));
    }
    const middle = (of: (start: Start) => number): number => Math.round(percentile(starts.map(of), 0.5));
    const measured = { ready_ms: middle(({ ready_ms }) => ready_ms), idle_mib: middle(({ idle_mib }) => idle_mib) };
    const report = { machine: machine(), first, starts, median: measured, bars: barsOf(measured) };
    if (!options.dry) await writeFile(new URL('../../docs/benchmarks-controller.md', import.meta.url), pageOf(report));
    console.log(options.json ? JSON.stringify(report) : pageOf(report));
  } finally {
    await services.stop();
    await rm(data, { recursive: true, force: true });
  }
}

async function measure(data: string, services: Services): Promise<Start> {
  const began = performance.now();
  const controller = await startController({ data, services, port: 0 });
  try {
    const ready_ms = Math.round(performance.now() - began);
    await sleep(Number(options.idle) * 1000);
    return { ready_ms, idle_mib: await residentMib(controller) };
  } finally {
    await controller.process.stop(15_000);
  }
}

async function residentMib({ process: { pid } }: RunningController): Promise<number> {
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1];
  if (kib === undefined) throw new Error('the memory of a process is only read on Linux');
  return Math.round(Number(kib) / 1024);
}

const barsOf = ({ ready_ms, idle_mib }: Start) => [
  {
    bar: `ready ≤ ${bars.ready_ms / 1000} s after PostgreSQL`,
    measured: `${ready_ms} ms`,
    holds: ready_ms <= bars.ready_ms,
  },
  { bar: `idle ≤ ${bars.idle_mib} MB`, measured: `${idle_mib} MiB`, holds: idle_mib * 1.048576 <= bars.idle_mib },
];

function pageOf(report: {
  readonly machine: string;
  readonly first: Start;
  readonly starts: readonly Start[];
  readonly bars: ReturnType<typeof barsOf>;
}): string {
  const row = (name: string, { ready_ms, idle_mib }: Start) => `| ${name} | ${ready_ms} | ${idle_mib} |`;
  return `# The controller, measured

Written by \`npm run bench:controller\`; do not edit. PostgreSQL and nats-server run already; from the start of the controller's process to
its word that it listens, and what it holds in memory after it has idled for ${options.idle} s. The median counts.

Machine: ${report.machine}.

| bar | measured | holds |
|---|---|---|
${report.bars.map(({ bar, measured, holds }) => `| ${bar} | ${measured} | ${holds ? 'yes' : 'no'} |`).join('\n')}

| start | ready ms | idle MiB |
|---|---|---|
${[row('first, with all migrations', report.first), ...report.starts.map((start, n) => row(String(n + 1), start))].join('\n')}
`;
}

await main();
