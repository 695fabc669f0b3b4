import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { workflowImport } from '#contracts';
import { Farm } from '../support/farm.js';
import { tempDir } from '../support/temp-dir.js';
import { waitUntil } from '../support/wait-until.js';

let farm: Farm;
afterEach(() => farm.stop());

/** A member that leaves an artifact, a note and a command's output, and that gathers what it finds of them. */
const workflow = `kind: workflow
id: builder
description: One who builds
lead: {id: lead, capabilities: {command_run: allow}}
`;
const script = (shell: string) => `rounds:
  - when: {continuation: none}
    steps:
      - write: {path: .gitignore, content: "*.log\\n*.txt\\n!heard.txt\\n"}
      - run: {command: "echo made > $(ls -d .longshore/t_*)/artifacts/lead/report.txt", must_pass: true}
      - run: {command: "echo noted > $(ls -d .longshore/t_*)/notes/lead/found.md", must_pass: true}
      - call: {operation: start_command_run, input: {request: {summary: Build it, command: {kind: shell, command: ${JSON.stringify(shell)}}}}}
  - when: {continuation: command_result}
    steps:
      - run: {command: "cd .longshore/t_*; cat artifacts/lead/report.txt notes/lead/found.md command-runs/*/output.log > ../../heard.txt", must_pass: true}
      - call: {operation: checkpoint, input: {outcome: green, summary: Done}}`;

/** A Task whose command runs on one machine, and another machine that has just come. */
async function running(shell: string): Promise<string> {
  farm = await Farm.start({ workers: ['north'], slots: 1, nats: false });
  await farm.client.call(workflowImport, { document: workflow });
  const task = await farm.startTask(script(shell), { workflow_id: 'builder' });
  await waitUntil(async () => (await farm.task(task)).command_runs[0]?.status === 'running', {
    within: 120_000,
    what: 'the command runs',
  });
  await farm.join('south', { slots: 1 });
  return task;
}

describe('what a member leaves behind', () => {
  it('M9 H20 D22 is there for its next Dispatch on another machine: what the command said, the artifact, the note', async () => {
    const go = join(tempDir('go'), 'go');
    const task = await running(`echo one; until [ -e ${go} ]; do sleep 0.1; done; echo two`);
    const north = farm.workers.get('north');
    north?.signal('SIGTERM');
    await north?.event('draining');
    writeFileSync(go, '');
    await north?.ended;
    const view = await farm.until(task);
    expect(view).toMatchObject({ result: { outcome: 'green' }, command_runs: [{ status: 'succeeded' }] });
    const turns = (await farm.jobs(task)).filter(({ kind }) => kind === 'dispatch');
    const machines = turns.flatMap(({ leases }) => leases.map(({ worker_id }) => worker_id));
    expect(machines.sort()).toEqual([north?.id, farm.workers.get('south')?.id].sort());
    expect(await farm.fileOf(task, 'heard.txt')).toBe('made\nnoted\none\ntwo');
  });

  it('M9 Q8 is as much of what a command said as had arrived when its machine was killed, and says that it is not all', async () => {
    const task = await running('echo one; sleep 600');
    const [run] = (await farm.task(task)).command_runs;
    await waitUntil(
      async () => (await farm.client.getOutput(task, run?.command_id ?? '', undefined)).head.next !== '1.0.0',
      { within: 120_000, what: 'its first line has arrived' },
    );
    farm.workers.get('north')?.signal('SIGKILL');
    const view = await farm.until(task);
    expect(view.command_runs).toMatchObject([{ status: 'failed', failure_code: 'command_ownership_lost' }]);
    expect(await farm.fileOf(task, 'heard.txt')).toBe(
      'made\nnoted\none\n\n[what the command said after this did not arrive]',
    );
  });
});
