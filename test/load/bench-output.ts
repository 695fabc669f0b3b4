import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { commandRunGet, taskOverview, taskStart, workflowImport } from '#contracts';
import { LocalFarm } from '../../apps/cli/src/farm/local-farm.js';
import { percentile } from './longshore.js';
import { machine } from './machine.js';
import { ProcessWatch } from './process-watch.js';
import { type Flow, type Followed, pageOf, reportOf } from './report-output.js';
import { say } from './say.js';

const { values: options } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    /** Of the command at full speed and of the paced one, each. */
    megabytes: { type: 'string', default: '600' },
    /** Do not write docs/benchmarks-output.md. */
    dry: { type: 'boolean', default: false },
  },
});
const bytes = Number(options.megabytes) * 1_000_000;
const pacedBytesPerSecond = 20_000_000;

const workflow = `
kind: workflow
id: measure
description: One member that has a command run.
lead:
  id: lead
  provider: { kind: scripted }
  capabilities: { command_run: allow }
`;

/** Says so many bytes at a pace, in lines that begin with the time at which they were said. */
const pace = `
const [bytes, perSecond, line] = process.argv.slice(2).map(Number);
const rest = 'a line that a build would say '.repeat(10).slice(0, line - 16);
const began = Date.now();
for (let said = 0; said < bytes; ) {
  const due = Math.min(bytes, Math.floor(((Date.now() - began) / 1000) * perSecond));
  let text = '';
  for (; said + text.length + line <= due; ) text += '@' + Date.now() + ' ' + rest + '\\n';
  if (bytes - said - text.length < line && due === bytes) text += 'x'.repeat(bytes - said - text.length);
  if (text !== '') process.stdout.write(text);
  said += text.length;
  await new Promise((go) => setTimeout(go, 20));
}
`;

/** A few lines a second, as most commands say. */
const quietLine = 40;
const quietPerSecond = 10 * quietLine;

async function main(): Promise<void> {
  const data = await mkdtemp(join(tmpdir(), 'longshore-bench-'));
  const farm = await LocalFarm.open({ data, env: {}, port: 0, again: false, say });
  try {
    await farm.client.call(workflowImport, { document: workflow });
    const worker = await farm.addWorker({ name: 'bench', slots: 2, env: { LONGSHORE_SANDBOX: 'none' } });
    const program = join(data, 'pace.mjs');
    await writeFile(program, pace);
    const paced = (amount: number, perSecond: number, line: number) =>
      `${process.execPath} ${program} ${amount} ${perSecond} ${line}`;
    // what both hold once they have run a first command is no part of it
    await run(farm, 'echo first');
    const watch = new ProcessWatch({ controller: farm.controllerPid, worker: worker.process.pid });

    say(`${options.megabytes} MB at full speed, and beside it a command that says ten lines a second`);
    const beside = begin(farm, paced(20 * quietPerSecond, quietPerSecond, quietLine));
    const full = await run(farm, `yes 'a line that a build would say' | head -c ${bytes}`);
    const quiet = await (await beside).ended;
    watch.mark('full speed');

    say(`${options.megabytes} MB at ${pacedBytesPerSecond / 1e6} MB/s`);
    const steady = await (await begin(farm, paced(bytes, pacedBytesPerSecond, 200))).ended;
    watch.mark('paced');

    const report = reportOf({
      bytes,
      flows: [flowOf('full speed', full), flowOf('paced at 20 MB/s', steady)],
      followed: [followedOf('ten lines a second, beside the one at full speed', quiet), followedOf('20 MB/s', steady)],
      processes: watch.end(),
      machine: machine(),
    });
    const page = pageOf(report);
    if (!options.dry) await writeFile(new URL('../../docs/benchmarks-output.md', import.meta.url), page);
    process.stdout.write(`${options.json ? JSON.stringify(report) : page}\n`);
  } finally {
    await farm.stop();
    await rm(data, { recursive: true, force: true });
  }
}

interface Ran {
  readonly seconds: number;
  readonly observed: number;
  readonly written: number;
  readonly complete: boolean;
  /** Milliseconds from a line's saying to its being shown. */
  readonly delays: readonly number[];
}

interface Begun {
  readonly ended: Promise<Ran>;
}

/** A Task whose member has this run; followed by a command line of its own. */
async function begin(farm: LocalFarm, shell: string): Promise<Begun> {
  const { task, command } = await start(farm, shell);
  const delays: number[] = [];
  const shown = follow(farm, task, command, delays);
  return { ended: shown.then(() => endOf(farm, task, command, delays)) };
}

async function run(farm: LocalFarm, shell: string): Promise<Ran> {
  const { task, command } = await start(farm, shell);
  return await endOf(farm, task, command, []);
}

async function start(farm: LocalFarm, shell: string): Promise<{ readonly task: string; readonly command: string }> {
  const script = `
rounds:
  - when: {continuation: none}
    steps:
      - call: {operation: start_command_run, input: {request: {summary: Say much, command: {kind: shell, command: ${JSON.stringify(shell)}}}}}
  - when: {continuation: command_result}
    steps:
      - call: {operation: checkpoint, input: {outcome: green, summary: Done}}`;
  const prompt = `\`\`\`yaml longshore-script\n${script}\n\`\`\`\n`;
  const { task_id: task } = await farm.client.call(taskStart, { workflow_id: 'measure', prompt });
  for (;;) {
    const [run] = (await farm.client.call(taskOverview, { task_id: task })).command_runs;
    if (run !== undefined) return { task, command: run.command_id };
    await wait(50);
  }
}

async function endOf(farm: LocalFarm, task_id: string, command_id: string, delays: readonly number[]): Promise<Ran> {
  for (;;) {
    const { started_at, ended_at, output, status } = await farm.client.call(commandRunGet, { task_id, command_id });
    if (started_at !== null && ended_at !== null && output !== null) {
      if (status !== 'succeeded') throw new Error(`the command ended ${status}`);
      return {
        seconds: (Date.parse(ended_at) - Date.parse(started_at)) / 1000,
        observed: output.observed_bytes,
        written: output.written_bytes,
        complete: output.complete,
        delays,
      };
    }
    await wait(50);
  }
}

/** `longshore task output`, as a person follows it; the stamp of each line against the moment at which it is shown. */
async function follow(farm: LocalFarm, task: string, command: string, delays: number[]): Promise<void> {
  const cli = spawn(
    process.execPath,
    [resolve(import.meta.dirname, '../../dist/longshore.js'), 'task', 'output', task, command],
    {
      env: { PATH: process.env.PATH ?? '', LONGSHORE_CREDENTIAL: farm.credentialFile },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  let last = 0;
  for await (const line of createInterface({ input: cli.stdout })) {
    const stamp = Number(/^@(\d+) /.exec(line)?.[1] ?? 0);
    if (stamp <= last) continue;
    last = stamp;
    delays.push(Date.now() - stamp);
  }
}

function flowOf(name: string, { observed, seconds, complete }: Ran): Flow {
  return { name, bytes: observed, seconds, mb_per_second: Number((observed / seconds / 1e6).toFixed(1)), complete };
}

function followedOf(name: string, { delays }: Ran): Followed {
  const at = (share: number) => Math.round(percentile(delays, share));
  return { name, lines: delays.length, p50_ms: at(0.5), p95_ms: at(0.95), max_ms: Math.max(...delays) };
}

const wait = (ms: number) => new Promise((go) => setTimeout(go, ms));

await main();
