import { execFileSync } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';
import { oneWorker } from '../../../../test/support/one-worker.js';
import type { Heard, StandInController, StandInJob } from '../../../../test/support/stand-in-controller.js';

const green = '- call: {operation: checkpoint, input: {outcome: green, summary: Done}}';

const shared = oneWorker();

describe('a session whose process has ended', () => {
  it('D1 goes on where its handover was refused: told the error, it hands over again', async () => {
    const { farm, worker } = await shared();
    const job = farm.add(
      `steps:\n  - write: {path: a.txt, content: a}\n  ${green}\non_reminder:\n  - write: {path: b.txt, content: b}\n  ${green}\n`,
    );
    let refusals = 0;
    farm.weather = (heard) => {
      if (!handsOver(heard, job) || refusals > 0) return 'fine';
      refusals += 1;
      return { problem: 'handover_refused' };
    };
    const run = worker.of(job);
    await run.until('completed');

    expect(job.completed?.ended).toBe('handover');
    expect(run.events('reminded').map(({ count }) => count)).toEqual([1]);
    const sessions = run.events('started').map(({ session }) => session);
    expect(sessions).toEqual([sessions[0], sessions[0]]);
    expect([...job.output.values()].join('')).toContain('Your handover was refused');
    expect(names(farm, job)).toEqual(['a.txt', 'b.txt']);
    expect(job.epoch).toBe(1);
    expect(farm.calls.findLast(({ job: of }) => of === job.id)?.callId).toBe(
      Object(job.completed?.result.handover).call_id,
    );
  });

  it('D1 ends silent, its work handed in, when the third reminder is spent', async () => {
    const { farm, worker } = await shared();
    const job = farm.add(`steps:\n  - write: {path: a.txt, content: a}\n  ${green}\non_reminder:\n  ${green}\n`);
    farm.weather = (heard) => (handsOver(heard, job) ? { problem: 'handover_refused' } : 'fine');
    const run = worker.of(job);
    await run.until('completed');

    expect(run.events('reminded').map(({ count }) => count)).toEqual([1, 2, 3]);
    expect(job.completed).toMatchObject({
      ended: 'silent',
      result: { detail: expect.stringContaining('The handover was refused') },
    });
    expect(job.completed?.result.handover).toBeUndefined();
    expect(names(farm, job)).toEqual(['a.txt']);
  });

  it('is reminded in another process where each turn has its own, and adds up what all of them used', async () => {
    const { farm, worker } = await shared();
    const job = farm.add(
      `steps:\n  - usage: {input_tokens: 5}\n  - exit\non_reminder:\n  - usage: {input_tokens: 7}\n  - {when: {reminder: 1}, exit: }\n  ${green}\n`,
    );
    const run = worker.of(job);
    await run.until('completed');
    expect(run.events('reminded').map(({ count }) => count)).toEqual([1, 2]);
    expect(job.completed).toMatchObject({ ended: 'handover', result: { usage: { requests: 3, input_tokens: 19 } } });
  });

  it('ends silent where the provider does not know it any more, with its work', async () => {
    const { farm, worker } = await shared();
    const job = farm.add(
      'steps:\n  - write: {path: a.txt, content: a}\n  - run: {command: "rm ../state/scripted/session.json", must_pass: true}\n  - exit\n',
    );
    await worker.of(job).until('completed');
    expect(job.completed).toMatchObject({ ended: 'silent', result: { detail: expect.stringContaining('no such') } });
    expect(names(farm, job)).toEqual(['a.txt']);
  });
});

function handsOver({ path, body }: Heard, job: StandInJob): boolean {
  const { job_id, ended } = Object(Object(body).input);
  return path.endsWith('/job_complete') && job_id === job.id && ended === 'handover';
}

function names(farm: StandInController, job: StandInJob): readonly string[] {
  const commit = String(job.completed?.result.commit);
  return execFileSync('git', ['ls-tree', '-r', '--name-only', commit], {
    cwd: farm.store.dir,
    encoding: 'utf8',
  })
    .trim()
    .split('\n');
}
