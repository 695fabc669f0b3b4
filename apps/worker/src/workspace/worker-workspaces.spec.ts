import { spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { aWorker } from '../../../../test/support/a-worker.js';
import { StandInController, type StandInJob } from '../../../../test/support/stand-in-controller.js';
import { waitUntil } from '../../../../test/support/wait-until.js';
import { mountsBeneath } from './layers/mounts.js';
import { removeFolder } from './remove-folder.js';

const nobody = 65_534;
const itAsRoot = process.getuid?.() === 0 && process.platform === 'linux' ? it : it.skip;
const asNobody = ['setpriv', `--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups'] as const;
/** A checkout under a home that only its owner may enter can be run by nobody else. */
const itAsNobody =
  spawnSync(asNobody[0], [...asNobody.slice(1), 'ls', import.meta.dirname]).status === 0 ? itAsRoot : it.skip;
const green = '- call: {operation: checkpoint, input: {outcome: green, summary: Done}}';
const script = (...steps: string[]): string => `steps:\n${steps.map((step) => `  ${step}\n`).join('')}`;
const homes: string[] = [];

afterAll(async () => {
  for (const home of homes) await removeFolder(home);
});

describe('the workspaces of a worker', () => {
  it('are kept while the Assignment goes on, so that its next Dispatch is warm, and go when it closes', async () => {
    const farm = await StandInController.open();
    const worker = await aWorker(farm);
    const first = farm.add(
      script(
        '- write: {path: .gitignore, content: "deps/"}',
        '- write: {path: deps/big.bin, content: warm}',
        '- say: here',
        '- wait: {file: go}',
        green,
      ),
    );
    first.assignment = 'asg_1';
    await worker.until('step', ({ text }) => text === 'here');
    first.end = { kind: 'pause', reason: 'by a person' };
    await worker.until('kept');
    expect(first.completed).toMatchObject({ ended: 'paused', result: { isolation: { warm: false } } });
    expect(readdirSync(join(worker.home, 'kept'))).toEqual(['asg_1']);

    const next = farm.add(script('- wait: {file: deps/big.bin}', green), String(first.completed?.result.commit));
    next.assignment = 'asg_1';
    await worker.until('completed', ({ job }) => job === next.id);
    expect(next.completed).toMatchObject({ ended: 'handover', result: { isolation: { warm: true } } });
    await waitUntil(() => readdirSync(join(worker.home, 'workspaces')).length === 0);
    expect(readdirSync(join(worker.home, 'kept'))).toEqual([]);
  });

  it('are not begun on a disk below its floor: nothing is claimed, no room is announced, and it is said', async () => {
    const farm = await StandInController.open();
    const worker = await aWorker(farm, { env: { LONGSHORE_DISK_FLOOR_MB: String(2 ** 31 - 1) } });
    const job = farm.add(script(green));
    await worker.until('disk', ({ short }) => short === 'bytes');
    const beats = () => farm.requests(/job_heartbeat/).map(({ body }) => body);
    const full = { input: { worker: { slots: 1, busy: 1, refuses: expect.stringContaining('disk is short') } } };
    await waitUntil(() => expect(beats().at(-1)).toMatchObject(full) === undefined, { within: 20_000 });
    expect(worker.events('claimed')).toEqual([]);
    expect(job.state).toBe('queued');
    expect(farm.requests(/job_claim/)).toEqual([]);
    expect(worker.process.stderr()).toContain('takes no new work');
  });

  itAsNobody('of a plain user come from the next backend, and say why', async () => {
    const { job } = await runAsNobody({});
    expect(job.completed?.result.isolation).toMatchObject({
      backend: expect.stringMatching(/^(reflink|clone)$/),
      fell_back: true,
      reasons: expect.arrayContaining([expect.stringMatching(/^overlay: .*does not run as root/)]),
    });
  });

  itAsNobody('of a plain user come from overlays where its owner gives the worker a user namespace', async () => {
    const { job, home } = await runAsNobody({ LONGSHORE_USER_NAMESPACE: '1' });
    expect(job.completed?.result).toMatchObject({
      commit: expect.stringMatching(/^[0-9a-f]{40}$/),
      isolation: { backend: 'overlay', reasons: [] },
    });
    // they were mounted where nobody else sees them
    expect(await mountsBeneath(home)).toEqual([]);
  });

  itAsRoot('leave no mount when the worker ends', async () => {
    const farm = await StandInController.open();
    const worker = await aWorker(farm);
    const job = farm.add(script('- write: {path: a.txt, content: a}', green));
    await worker.until('completed', (event) => event.job === job.id);
    expect(await mountsBeneath(worker.home)).not.toEqual([]);
    worker.process.signal('SIGTERM');
    await worker.process.ended;
    expect(await mountsBeneath(worker.home)).toEqual([]);
    expect(existsSync(join(worker.home, 'templates'))).toBe(true);
  });
});

/** A worker of the user nobody, in a folder that is his. */
async function runAsNobody(
  env: Readonly<Record<string, string>>,
): Promise<{ readonly job: StandInJob; readonly home: string }> {
  const farm = await StandInController.open();
  const home = mkdtempSync(join(tmpdir(), 'longshore-nobody-'));
  homes.push(home);
  chownSync(home, nobody, nobody);
  const worker = await aWorker(farm, {
    home,
    env,
    within: asNobody,
  });
  const job = farm.add(script('- write: {path: a.txt, content: a}', green));
  await worker.until('completed', (event) => event.job === job.id);
  return { job, home };
}
