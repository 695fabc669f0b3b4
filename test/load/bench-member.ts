import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { taskStart, workflowImport } from '#contracts';
import { LocalFarm } from '../../apps/cli/src/farm/local-farm.js';
import type { WorkerEvent } from '../../apps/cli/src/farm/worker-process.js';
import { percentile } from './longshore.js';
import { machine } from './machine.js';
import { say } from './say.js';

const { values: options } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    /** Calls of each operation that are counted. */
    calls: { type: 'string', default: '200' },
    /** Do not write docs/benchmarks-member.md. */
    dry: { type: 'boolean', default: false },
  },
});
const calls = Number(options.calls);
const uncounted = 20;
const bar = 10;

/** A read, and one that writes a row and an event under the Task's lock. */
const operations = {
  get_current_context: '{}',
  set_work_plan: '{steps: [{step: measure, status: in_progress}]}',
} as const;
type Operation = keyof typeof operations;

const workflow = `
kind: workflow
id: measure
description: One member that calls.
lead:
  id: lead
  provider: { kind: scripted }
`;

interface Row {
  readonly rung: 'none' | 'bwrap';
  readonly operation: Operation;
  readonly calls: number;
  readonly p50_ms: number;
  readonly p95_ms: number;
  readonly p99_ms: number;
}

async function main(): Promise<void> {
  const data = await mkdtemp(join(tmpdir(), 'longshore-bench-'));
  const farm = await LocalFarm.open({ data, env: {}, port: 0, again: false, say });
  try {
    await farm.client.call(workflowImport, { document: workflow });
    const rows: Row[] = [];
    for (const rung of ['none', 'bwrap'] as const) rows.push(...(await measure(farm, rung)));
    const worst = Math.max(...rows.filter(({ rung }) => rung === 'bwrap').map(({ p50_ms }) => p50_ms));
    const report = {
      machine: machine(),
      rows,
      bars: [{ bar: `behind walls p50 ≤ ${bar} ms`, measured: worst, holds: worst <= bar }],
    };
    const page = pageOf(report);
    if (!options.dry) await writeFile(new URL('../../docs/benchmarks-member.md', import.meta.url), page);
    console.log(options.json ? JSON.stringify(report) : page);
  } finally {
    await farm.stop();
    await rm(data, { recursive: true, force: true });
  }
}

/** One Task whose member calls one after the other; the time is from the provider's word that it calls to that of the answer. */
async function measure(farm: LocalFarm, rung: Row['rung']): Promise<readonly Row[]> {
  say(`rung ${rung}: ${calls} calls of each operation`);
  const taken = new Map<string, number[]>();
  const over = Promise.withResolvers<void>();
  let asked: number | undefined;
  const onEvent = (event: WorkerEvent): void => {
    const at = performance.now();
    const { step, name } = event;
    if (event.event === 'completed') over.resolve();
    if (event.event === 'failed') over.reject(new Error(`the Dispatch failed: ${JSON.stringify(event)}`));
    if (step === 'tool_call') asked = at;
    if (step !== 'tool_result' || asked === undefined) return;
    taken.set(String(name), [...(taken.get(String(name)) ?? []), at - asked]);
  };
  await farm.addWorker({ name: `bench-${rung}`, slots: 1, env: { LONGSHORE_SANDBOX: rung }, onEvent });
  const steps = (Object.keys(operations) as Operation[]).flatMap((operation) =>
    Array.from(
      { length: calls + uncounted },
      () => `  - call: {operation: ${operation}, input: ${operations[operation]}}`,
    ),
  );
  const script = ['steps:', ...steps, '  - call: {operation: checkpoint, input: {outcome: green, summary: Done}}'];
  const prompt = `\`\`\`yaml longshore-script\n${script.join('\n')}\n\`\`\`\n`;
  await farm.client.call(taskStart, { workflow_id: 'measure', prompt });
  await over.promise;
  await farm.workers.get(`bench-${rung}`)?.stop(20_000);
  return (Object.keys(operations) as Operation[]).map((operation) => {
    const times = (taken.get(operation) ?? []).slice(uncounted);
    if (times.length !== calls) throw new Error(`${operation}: ${times.length} of ${calls} calls were seen`);
    const at = (share: number) => Number(percentile(times, share).toFixed(2));
    return { rung, operation, calls, p50_ms: at(0.5), p95_ms: at(0.95), p99_ms: at(0.99) };
  });
}

function pageOf({
  rows,
  bars,
  machine: told,
}: {
  rows: readonly Row[];
  bars: readonly { bar: string; measured: number; holds: boolean }[];
  machine: string;
}): string {
  return `# Member operations, measured

Written by \`npm run bench:member\`; do not edit. A scripted member calls its door, one call after the other: from the provider's word that
it calls to that of the answer, through MCP, the relay of the sandbox, the worker, HTTP, token, gate, rule and SQL with fsync, and back.
\`none\` is the same on loopback.

Machine: ${told}.

| bar | measured | holds |
|---|---|---|
${bars.map(({ bar: name, measured, holds }) => `| ${name} | ${measured.toFixed(2)} | ${holds ? 'yes' : 'no'} |`).join('\n')}

| sandbox | operation | calls | p50 ms | p95 ms | p99 ms |
|---|---|---|---|---|---|
${rows.map(({ rung, operation, calls: count, p50_ms, p95_ms, p99_ms }) => `| ${rung} | ${operation} | ${count} | ${p50_ms} | ${p95_ms} | ${p99_ms} |`).join('\n')}
`;
}

await main();
