import { execFileSync } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';
import { aWorker } from '../../../../test/support/a-worker.js';
import { type Heard, StandInController, type StandInJob } from '../../../../test/support/stand-in-controller.js';

const green = '- call: {operation: checkpoint, input: {outcome: green, summary: Done}}';

describe('a session whose process has ended', () => {
  it('D1 goes on where its handover was refused: told the error, it hands over again', async () => {
    const farm = await StandInController.open();
    const job = farm.add(
      `steps:\n  - write: {path: a.txt, content: a}\n  ${green}\non_reminder:\n  - write: {path: b.txt, content: b}\n  ${green}\n`,
    );
    let refusals = 0;
    farm.weather = (heard) => {
      if (!handsOver(heard) || refusals > 0) return 'fine';
      refusals += 1;
      return { problem: 'handover_refused' };
    };
    const worker = await aWorker(farm);
    await worker.until('completed');

    expect(job.completed?.ended).toBe('handover');
    expect(worker.events('reminded').map(({ count }) => count)).toEqual([1]);
    const sessions = worker.events('started').map(({ session }) => session);
    expect(sessions).toEqual([sessions[0], sessions[0]]);
    expect([...job.output.values()].join('')).toContain('Your handover was refused');
    expect(names(farm, job)).toEqual(['a.txt', 'b.txt']);
    expect(job.epoch).toBe(1);
    expect(farm.calls.at(-1)?.callId).toBe(Object(job.completed?.result.handover).call_id);
  });

  it('D1 ends silent, its work handed in, when the third reminder is spent', async () => {
    const farm = await StandInController.open();
    const job = farm.add(`steps:\n  - write: {path: a.txt, content: a}\n  ${green}\non_reminder:\n  ${green}\n`);
    farm.weather = (heard) => (handsOver(heard) ? { problem: 'handover_refused' } : 'fine');
    const worker = await aWorker(farm);
    await worker.until('completed');

    expect(worker.events('reminded').map(({ count }) => count)).toEqual([1, 2, 3]);
    expect(job.completed).toMatchObject({
      ended: 'silent',
      result: { detail: expect.stringContaining('The handover was refused') },
    });
    expect(job.completed?.result.handover).toBeUndefined();
    expect(names(farm, job)).toEqual(['a.txt']);
  });

  it('is reminded in another process where each turn has its own, and adds up what all of them used', async () => {
    const farm = await StandInController.open();
    const job = farm.add(
      `steps:\n  - usage: {input_tokens: 5}\n  - exit\non_reminder:\n  - usage: {input_tokens: 7}\n  - {when: {reminder: 1}, exit: }\n  ${green}\n`,
    );
    const worker = await aWorker(farm);
    await worker.until('completed');
    expect(worker.events('reminded').map(({ count }) => count)).toEqual([1, 2]);
    expect(job.completed).toMatchObject({ ended: 'handover', result: { usage: { requests: 3, input_tokens: 19 } } });
  });

  it('ends silent where the provider does not know it any more, with its work', async () => {
    const farm = await StandInController.open();
    const job = farm.add(
      'steps:\n  - write: {path: a.txt, content: a}\n  - run: {command: "rm ../state/scripted/session.json", must_pass: true}\n  - exit\n',
    );
    await (await aWorker(farm)).until('completed');
    expect(job.completed).toMatchObject({ ended: 'silent', result: { detail: expect.stringContaining('no such') } });
    expect(names(farm, job)).toEqual(['a.txt']);
  });
});

const handsOver = ({ path, body }: Heard) =>
  path.endsWith('/job_complete') && Object(Object(body).input).ended === 'handover';

function names(farm: StandInController, job: StandInJob): readonly string[] {
  const commit = String(job.completed?.result.commit);
  return execFileSync('git', ['ls-tree', '-r', '--name-only', commit], {
    cwd: farm.store.dir,
    encoding: 'utf8',
  })
    .trim()
    .split('\n');
}
