import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { type AnsweringFarm, anAnsweringFarm, problem, runCli } from '../../../../../test/support/answering-farm.js';
import { tempDir } from '../../../../../test/support/temp-dir.js';

let farm: AnsweringFarm | undefined;
afterEach(() => farm?.close());

const task = 't_00000000';
const commit = 'c'.repeat(40);
const pushed = {
  state: 'pushed',
  branch: `longshore/${task}`,
  commit,
  already: false,
  approval: null,
  pull_request: null,
};

/** A farm that answers this to whatever it is asked, and the command line in front of it. */
async function answering(result: unknown, around: { cwd?: string; terminal?: boolean } = {}) {
  farm = await anAnsweringFarm(() => ({ json: { result } }));
  const { credential, asked } = farm;
  const run = (...words: readonly string[]) =>
    runCli(['task', ...words], { ...around, env: { LONGSHORE_CREDENTIAL: credential } });
  const input = () => JSON.parse(asked.at(-1)?.body.toString() ?? '{}').input;
  return { run, input };
}

describe('task push', () => {
  it('says the branch and the pull request, and asks for what it was told to', async () => {
    const body = join(tempDir('body'), 'body.md');
    writeFileSync(body, 'What and why.\n');
    const request = { number: 7, url: 'https://forge.example.test/team/app/7', state: 'open', created: true };
    const { run, input } = await answering({ ...pushed, pull_request: request });
    const words = ['--pr', '--title', 'Mend', '--body-file', body, '--target', 'release', '--forge', 'gitea'];
    const ran = await run('push', task, ...words);
    expect(ran.exit).toBe(0);
    expect(ran.stdout).toContain(`longshore/${task} ${commit}`);
    expect(ran.stdout).toContain('#7 open https://forge.example.test/team/app/7');
    expect(input()).toEqual({
      task_id: task,
      pull_request: true,
      title: 'Mend',
      body: 'What and why.\n',
      target: 'release',
      forge: 'gitea',
    });
  });

  it('H39 shows what a CI system would run, pushes nothing, and ends with 5 until it is approved', async () => {
    const approval = {
      digest: 'd'.repeat(32),
      repository: 'app',
      origin: 'https://git.example.test/team/app',
      files: ['.github/workflows/x.yml'],
      diff: '+on: push \u001b[2Jand more\n',
      truncated: false,
      binary: false,
    };
    const { run, input } = await answering({ ...pushed, state: 'waiting_for_approval', approval });
    const ran = await run('push', task, '--pr');
    expect(ran.exit).toBe(5);
    expect(ran.stdout).toContain('+on: push and more');
    expect(ran.stdout).not.toContain('\u001b');
    expect(ran.stderr).toContain('app (https://git.example.test/team/app)');
    expect(ran.stderr).toContain('.github/workflows/x.yml');
    expect(ran.stderr).toContain(`longshore task push ${task} --pr --approve ${approval.digest}`);
    await run('push', task, '--approve', approval.digest);
    expect(input()).toMatchObject({ approve: approval.digest });
    const json = await run('push', task, '--json');
    expect([json.exit, JSON.parse(json.stdout).approval.files]).toEqual([5, approval.files]);
  });
});

describe('task diff and task patch', () => {
  it('H38 shows a diff without what a terminal would obey, and says when there is more', async () => {
    const text = '+red \u001b[31mtext\u001b[0m\u009b2J\n';
    const diff = { base: commit, commit, text, truncated: true, files_changed: 1, additions: 1, deletions: 0 };
    const { run, input } = await answering(diff);
    const ran = await run('diff', task, '--stat');
    expect(ran.stdout).toBe('+red text\n');
    expect(ran.stderr).toContain(`longshore task patch ${task}`);
    expect(input()).toEqual({ task_id: task, stat: true });
  });

  it('writes patches byte for byte, into a new file or to a pipe, and never to a terminal', async () => {
    const folder = tempDir('patch');
    const file = join(folder, 'made.mbox');
    const bytes = Buffer.from([0x46, 0, 0xff, 0x0a, 0x1b]);
    writeFileSync(file, bytes);
    farm = await anAnsweringFarm(({ path }) =>
      path === `/v1/tasks/${task}/patch` ? { file } : problem('not_found', 404),
    );
    const env = { LONGSHORE_CREDENTIAL: farm.credential };
    expect((await runCli(['task', 'patch', task, '-o', 'out.patch'], { cwd: folder, env })).exit).toBe(0);
    expect(readFileSync(join(folder, 'out.patch'))).toEqual(bytes);
    expect((await runCli(['task', 'patch', task, '-o', 'out.patch'], { cwd: folder, env })).exit).toBe(6);
    expect(readFileSync(join(folder, 'out.patch'))).toEqual(bytes);
    expect((await runCli(['task', 'patch', task], { cwd: folder, env })).stdout).toContain('F');
    const told = await runCli(['task', 'patch', task], { cwd: folder, env, terminal: true });
    expect([told.exit, told.stdout]).toEqual([2, '']);
  });
});

describe('task start', () => {
  it('says what the farm verifies with, or that it verifies nothing', async () => {
    const { run, input } = await answering({ task_id: task, status: 'preparing' });
    await run('start', '--workflow', 'solo', '--empty', '--verify', 'npm test', '--verify-timeout', '60', 'Mend it.');
    expect(input()).toMatchObject({ verify: 'npm test', verify_timeout_seconds: 60 });
    await run('start', '--workflow', 'solo', '--empty', '--no-verify', 'Mend it.');
    expect(input()).toMatchObject({ verify: false });
    await run('start', '--workflow', 'solo', '--empty', 'Mend it.');
    expect(input()).not.toHaveProperty('verify');
  });

  it('W11 says which backends its workspaces need, and whether another may stand in', async () => {
    const { run, input } = await answering({ task_id: task, status: 'preparing' });
    const words = ['start', '--workflow', 'solo', '--empty', 'Mend it.'];
    await run(...words, '--isolation', 'overlay,reflink');
    expect(input()).toMatchObject({ isolation: { required: ['overlay', 'reflink'], allow_fallback: true } });
    await run(...words, '--isolation', 'clone', '--no-fallback');
    expect(input()).toMatchObject({ isolation: { required: ['clone'], allow_fallback: false } });
    expect((await run(...words, '--no-fallback')).exit).toBe(2);
    expect((await run(...words, '--isolation', 'zfs')).exit).toBe(2);
    await run(...words);
    expect(input()).not.toHaveProperty('isolation');
  });
});
