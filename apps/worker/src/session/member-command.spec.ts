import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { aWorker } from '../../../../test/support/a-worker.js';
import { oneWorker } from '../../../../test/support/one-worker.js';
import { aBundle } from '../../../../test/support/repositories.js';
import { StandInController, type StandInJob } from '../../../../test/support/stand-in-controller.js';
import { tempDir } from '../../../../test/support/temp-dir.js';
import { waitUntil } from '../../../../test/support/wait-until.js';

const shared = oneWorker();

/** A commit at the farm, and commands that the member of an Assignment of its own asked for. */
async function anAssignment(farm: StandInController) {
  const base = await farm.base(aBundle({ 'a.txt': 'a\n', '.gitignore': 'deps/\n' }));
  const assignment = `asg_${randomUUID()}`;
  const shell = (command: string, at = base): StandInJob => {
    const job = farm.addCommand({ command: { kind: 'shell', command } }, at);
    job.assignment = assignment;
    return job;
  };
  return { base, shell };
}

const within = { within: 30_000 };
const saidBy = (job: Pick<StandInJob, 'output'>): string => [...job.output.values()].join('');
const resultOf = (job: StandInJob) => job.completed?.result ?? {};

describe('a command of a member on a worker', () => {
  it('M9 hands back what it changed, whatever its end, and leaves the workspace warm for who goes on', async () => {
    const { farm, worker } = await shared();
    const { shell } = await anAssignment(farm);
    const first = shell('echo said; mkdir deps; echo there > deps/x; echo built > out.txt; rm a.txt; exit 3');
    await waitUntil(() => first.completed !== undefined, within);
    expect(first.completed).toMatchObject({ ended: 'exited', result: { exit_code: 3 } });
    const commit = String(resultOf(first).commit);
    expect(first.packs).toEqual([{ epoch: 1, commit, how: 'accepted' }]);
    await worker.of(first).until('kept');

    const next = shell('cat deps/x out.txt .longshore/*/command-runs/*/output.log; ls; git status --porcelain', commit);
    await waitUntil(() => next.completed !== undefined, within);
    expect(saidBy(next)).toBe('there\nbuilt\nsaid\ndeps\nout.txt\n');
    expect(resultOf(next)).toMatchObject({ exit_code: 0, isolation: { warm: true } });
    expect(resultOf(next)).not.toHaveProperty('commit');
    expect(next.packs).toEqual([]);
  });

  it('M9 hands back what it had changed at its time, or when it was cancelled', async () => {
    const { farm } = await shared();
    const { shell, base } = await anAssignment(farm);
    const late = farm.addCommand(
      { command: { kind: 'shell', command: 'echo half > half.txt; sleep 600' }, timeout_seconds: 1 },
      base,
    );
    late.assignment = `asg_${randomUUID()}`;
    await waitUntil(() => late.completed !== undefined, within);
    expect(late.completed?.ended).toBe('timed_out');
    expect(late.packs).toMatchObject([{ how: 'accepted', commit: resultOf(late).commit }]);

    const cancelled = shell('echo half > half.txt; echo here; sleep 600');
    await waitUntil(() => saidBy(cancelled) === 'here\n', within);
    cancelled.end = { kind: 'cancel', reason: 'a person cancelled it' };
    await waitUntil(() => cancelled.completed !== undefined, within);
    expect(cancelled.packs).toMatchObject([{ how: 'accepted', commit: resultOf(cancelled).commit }]);
  });

  it('H10 brings the work of a command to the farm whose worker was killed, and does not run it again', async () => {
    const farm = await StandInController.open();
    const { shell } = await anAssignment(farm);
    const mark = join(tempDir('mark'), 'ran');
    const job = shell(`echo ran >> ${mark}; echo half > half.txt; echo here; sleep 600`);
    const worker = await aWorker(farm);
    await waitUntil(() => saidBy(job) === 'here\n', within);
    worker.process.signal('SIGKILL');
    await worker.process.ended;
    await waitUntil(() => job.state === 'dead', within);
    const again = await aWorker(farm, { home: worker.home });
    await waitUntil(() => job.packs.length === 1, within);
    expect(job.packs).toMatchObject([{ epoch: 1, how: 'rescue' }]);
    await waitUntil(() => readdirSync(`${again.home}/workspaces`).length === 0);
    expect([existsSync(mark), readFileSync(mark, 'utf8'), job.epoch]).toEqual([true, 'ran\n', 1]);
  });

  it('H10 keeps as a rescue what it had changed when its lease went to another', async () => {
    const { farm, worker } = await shared();
    const { shell } = await anAssignment(farm);
    const job = shell('echo half > half.txt; echo here; sleep 600');
    await waitUntil(() => saidBy(job) === 'here\n', within);
    farm.giveToAnother(job);
    await waitUntil(() => job.packs.length === 1, within);
    expect(job.packs).toMatchObject([{ epoch: 1, how: 'rescue' }]);
    await waitUntil(() => !readdirSync(`${worker.home}/workspaces`).some((name) => name.startsWith(job.id)));
    expect(job.completed).toBeUndefined();
  });
});
