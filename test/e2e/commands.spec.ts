import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { commandRunGet, commandRunOutputRead, workflowImport } from '#contracts';
import { runCli } from '../support/answering-farm.js';
import { Farm } from '../support/farm.js';
import { tempDir } from '../support/temp-dir.js';
import { waitUntil } from '../support/wait-until.js';

let farm: Farm;
beforeAll(async () => {
  farm = await Farm.start({ workers: ['north'], slots: 1 });
  const document = `kind: workflow
id: builder
description: One who builds
lead: {id: lead, capabilities: {command_run: allow}}
`;
  await farm.client.call(workflowImport, { document });
});
afterAll(() => farm.stop());

const cli = (...words: readonly string[]) =>
  runCli(words, { env: { LONGSHORE_CREDENTIAL: join(farm.data, 'credential.json') } });

/** A member that has this run, and that then does the steps. */
const start = (shell: string, then: string) =>
  farm.startTask(
    `rounds:
  - when: {continuation: none}
    steps:
      - write: {path: .gitignore, content: "deps/\\n"}
      - write: {path: deps/there, content: "warm\\n"}
      - call: {operation: start_command_run, input: {request: {summary: Build it, command: {kind: shell, command: ${JSON.stringify(shell)}}}}}
  - when: {continuation: command_result}
    steps:
${then}
      - call: {operation: checkpoint, input: {outcome: green, summary: Done}}`,
    { workflow_id: 'builder' },
  );

const runOf = (task: string) =>
  waitUntil(async () => (await farm.task(task)).command_runs[0], { within: 120_000, what: 'the command is there' });

describe('a command of a member on a farm', () => {
  it('M9 D15 runs where its member worked, warm, and what it built and said is there for its next Dispatch', async () => {
    const task = await start(
      'cat deps/there; echo built > out.txt; echo made > deps/made; exit 3',
      `      - run: {command: "test $(cat out.txt deps/made | tr -d '\\\\n') = builtmade", must_pass: true}`,
    );
    const view = await farm.until(task);
    expect(view).toMatchObject({ status: 'completed', result: { outcome: 'green' } });
    expect(view.command_runs).toMatchObject([{ status: 'failed', exit_code: 3, purpose: 'member' }]);
    expect(await farm.fileOf(task, 'out.txt')).toBe('built');
    expect((await cli('task', 'output', task)).stdout).toBe('warm\n');
    expect((await cli('task', 'get', task)).stdout).toContain('It ended with 3.');
  });

  it('O17 follows what a command says while it runs, to its end', async () => {
    const go = join(tempDir('go'), 'go');
    const task = await start(`echo one; until [ -e ${go} ]; do sleep 0.1; done; echo two`, '');
    const { command_id } = await runOf(task);
    const followed = cli('task', 'output', task, command_id);
    const asked = { task_id: task, command_id };
    await waitUntil(async () => (await farm.client.call(commandRunOutputRead, asked)).text === 'one\n', {
      within: 120_000,
      what: 'its first line is there while it runs',
    });
    expect((await farm.client.call(commandRunGet, asked)).status).toBe('running');
    writeFileSync(go, '');
    expect((await followed).stdout).toBe('one\ntwo\n');
    await farm.until(task);
  });

  it('O18 ends a command only when that is meant, and its member goes on', async () => {
    const task = await start('echo here; sleep 600', '');
    const { command_id } = await runOf(task);
    await waitUntil(async () => (await runOf(task)).status === 'running', { within: 120_000, what: 'it runs' });
    const proposed = await cli('command-run', 'cancel', task, command_id);
    expect(proposed.exit).toBe(5);
    expect((await runOf(task)).status).toBe('running');
    expect((await cli('command-run', 'cancel', task, command_id, '--yes')).exit).toBe(0);
    expect(await farm.until(task)).toMatchObject({ status: 'completed', command_runs: [{ status: 'cancelled' }] });
  });

  it('N6 keeps the memory of controller and worker flat while a command says 200 MB', async () => {
    const [controller = 0] = farm.controllerPids;
    const worker = farm.workers.get('north')?.pid ?? 0;
    const bytes = 200_000_000;
    // what both have used once for a first command is not what this asks for
    const before = [controller, worker].map(memoryOf);
    for (const pid of [controller, worker]) writeFileSync(`/proc/${pid}/clear_refs`, '5');
    const task = await start(`yes 'a line that a build would say' | head -c ${bytes}`, '');
    const { command_runs } = await farm.until(task, undefined, 240_000);
    expect(command_runs).toMatchObject([
      { status: 'succeeded', output: { observed_bytes: bytes, written_bytes: bytes, complete: true } },
    ]);
    const grown = [controller, worker].map((pid, n) => peakOf(pid) - (before[n] ?? 0));
    for (const mb of grown) expect(mb).toBeLessThan(100);
  });
});

const memoryOf = (pid: number) => megabytes(pid, 'VmRSS');
const peakOf = (pid: number) => megabytes(pid, 'VmHWM');

function megabytes(pid: number, what: string): number {
  const line = new RegExp(`^${what}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(line?.[1]) / 1024;
}
