import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { headers, jobClaim, objectPaths, repoAdd, repoList, taskOverview, workflowImport } from '#contracts';
import { aController, codeOf, type TestController } from '../../../../../test/support/a-controller.js';
import { runCli } from '../../../../../test/support/answering-farm.js';
import { anHttpsOrigin, type HttpsOrigin } from '../../../../../test/support/git-origin.js';
import { aRepository, plainGit } from '../../../../../test/support/repositories.js';
import { tempDir } from '../../../../../test/support/temp-dir.js';
import { waitUntil } from '../../../../../test/support/wait-until.js';

const token = 'canary-token-at-the-door';
const secret = 'canary-secret-at-the-door';

let origin: HttpsOrigin;
let farm: TestController;
let head: string;
beforeAll(async () => {
  origin = await anHttpsOrigin();
  origin.tokens.set('x-access-token', token);
  const checkout = aRepository({ 'a.txt': 'a\n' });
  head = plainGit(checkout, ['rev-parse', 'HEAD']);
  origin.publish('app', checkout);
  farm = await aController({ sources: { privateHosts: ['127.0.0.1'], roots: [], caFile: origin.caFile } });
  await farm.admin.call(workflowImport, { document: 'kind: workflow\nid: solo\ndescription: One\nlead: {id: lead}\n' });
});
afterAll(() => farm.close());

const url = () => `https://127.0.0.1:${origin.port}/app.git`;

/** The command line as the first person of the farm. */
const cli = (words: readonly string[], stdin = '') =>
  runCli(words, { stdin, cwd: tempDir('cwd'), env: { LONGSHORE_CREDENTIAL: join(farm.data, 'credential.json') } });

describe('repositories, from the command line to the worker', () => {
  it('are registered with a token by stdin, checked, listed, started from and removed', async () => {
    const secretFile = join(tempDir('secret'), 'npm-token');
    writeFileSync(secretFile, `${secret}\n`);
    const added = await cli(
      [
        'repo',
        'add',
        'app',
        url(),
        '--token-file',
        '-',
        '--setup',
        'npm ci',
        '--egress',
        'registry.example.com',
      ].concat(['--env', 'CI=true', '--secret-file', `NPM_TOKEN=${secretFile}`]),
      `${token}\n`,
    );
    expect(added).toMatchObject({ exit: 0, stdout: expect.stringContaining(head) });
    const checked = await cli(['repo', 'check', 'app', '--json']);
    expect([checked.exit, JSON.parse(checked.stdout)]).toMatchObject([
      0,
      { usable: true, branch: 'main', commit: head },
    ]);
    const listed = await cli(['repo', 'list']);
    expect(listed.stdout).toContain('NPM_TOKEN');

    const started = await cli([
      'task',
      'start',
      '--workflow',
      'solo',
      '--repo',
      'app',
      '--ref',
      'main',
      '--json',
      'Do it.',
    ]);
    const { task_id } = JSON.parse(started.stdout);
    await waitUntil(async () => (await farm.admin.call(taskOverview, { task_id })).status === 'running', {
      what: 'the Task runs',
    });

    const refused = await cli(['repo', 'remove', 'app', '--yes']);
    expect([refused.exit, refused.stderr]).toEqual([6, expect.stringContaining('cancel them')]);
    const said = [added, checked, listed, started, refused].map(({ stdout, stderr }) => stdout + stderr);
    for (const canary of [token, secret])
      expect([...said, ...farm.logged].filter((text) => text.includes(canary))).toEqual([]);
  });

  it('give their settings to a worker that shows the token of its job, and to nobody else', async () => {
    const worker = await farm.aWorker();
    const claim = { request_id: crypto.randomUUID(), limit: 1, wait_seconds: 0 };
    const [job] = (await worker.call(jobClaim, claim)).jobs;
    const road = objectPaths.settings.replace(':job', job?.id ?? '');
    const bearer = { authorization: `Bearer ${worker.token}` };
    const answer = await farm.fetch(road, { headers: { ...bearer, [headers.jobToken]: job?.token ?? '' } });
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.body).toMatchObject({
      repository: {
        name: 'app',
        origin: url(),
        setup: 'npm ci',
        egress: ['registry.example.com'],
        environment: { CI: 'true' },
        secrets: { NPM_TOKEN: secret },
      },
    });
    expect(JSON.stringify(answer.body)).not.toContain(token);
    const other = await farm.aWorker();
    const stranger = { authorization: `Bearer ${other.token}`, [headers.jobToken]: job?.token ?? '' };
    const person = { authorization: `Bearer ${farm.admin.token}` };
    expect(codeOf(await farm.fetch(road, { headers: stranger }))).toBe('stale_lease');
    expect(codeOf(await farm.fetch(road, { headers: bearer }))).toBe('stale_lease');
    expect(codeOf(await farm.fetch(road, { headers: person }))).toBe('unauthenticated');
    expect(codeOf(await worker.ask('repo_list', {}))).toBe('not_available');
    expect(codeOf(await worker.ask('repo_add', { name: 'x', url: url() }))).toBe('not_available');
  });

  it('tell what is wrong with what was given, with the exit code and no value of it', async () => {
    const cases: readonly [readonly string[], number, string][] = [
      [['repo', 'add', 'bad', 'file:///etc'], 2, 'A file: URL is refused'],
      [['repo', 'add', 'bad', 'ext::sh%20-c%20id'], 2, 'runs a program'],
      [['repo', 'add', 'bad', farm.data], 2, 'No folder of this machine is open'],
      [['repo', 'add', 'bad', `https://me:${secret}@host.example/app`], 2, 'holds a credential'],
      [['repo', 'add', 'bad', 'git@host.example:app.git'], 2, '--ssh-key FILE'],
      [['repo', 'add', 'Bad Name', url()], 2, '<name>'],
      [['repo', 'add', 'bad', url(), '--token-file', '/nowhere'], 2, 'does not exist'],
      [['repo', 'add', 'bad', url(), '--token-file', 'prompt'], 2, 'Nobody is there'],
      [['repo', 'add', 'bad', url(), '--token-file', '-', '--ssh-key', '-'], 2, 'Only one of the files'],
      [['repo', 'add', 'bad', url(), '--env', 'novalue'], 2, 'NAME=VALUE'],
      [['repo', 'add', 'app', url()], 6, '--replace'],
      [['repo', 'check', 'unknown'], 3, 'longshore repo list'],
      [['repo', 'remove', 'unknown', '--yes'], 3, 'longshore repo list'],
      [['task', 'start', '--workflow', 'solo', '--repo', 'unknown', 'x'], 3, 'longshore repo list'],
      [['task', 'start', '--workflow', 'solo', '--repo', 'git@host.example:app', 'x'], 2, 'longshore repo add'],
      [['task', 'start', '--workflow', 'solo', '--repo', 'app', '--empty', 'x'], 2, 'exclude each other'],
      [['task', 'start', '--workflow', 'solo', '--ref', 'main', 'x'], 2, '--ref goes with --repo'],
      [['repo', 'add', 'closed', url(), '--token-file', '-'], 7, 'credential'],
    ];
    for (const [words, exit, told] of cases) {
      const ran = await cli(words, 'wrong-token');
      expect({ ...ran, words, told: ran.stderr.includes(told) }).toMatchObject({ exit, told: true });
      expect(ran.stdout + ran.stderr).not.toContain(secret);
    }
  });

  it('are changed in what is given, and `none` forgets', async () => {
    const add = (...words: string[]) =>
      cli(['repo', 'add', 'mine', 'https://git.example.com/mine', '--no-check', ...words], 'hidden');
    const shown = async () => (await farm.admin.call(repoList, {})).items.find(({ name }) => name === 'mine');
    await add('--token-file', '-', '--egress', 'a.example', '--egress', 'b.example', '--env', 'A=1', '--setup', 'make');
    expect(await shown()).toMatchObject({ credential: 'token', egress: ['a.example', 'b.example'], setup: 'make' });
    expect((await add('--replace', '--secret-file', 'B=-', '--default-branch', 'develop')).exit).toBe(0);
    expect(await shown()).toMatchObject({
      credential: 'token',
      secrets: ['B'],
      default_branch: 'develop',
      setup: 'make',
    });
    const forgets = ['--egress', '--env', '--secret-file', '--setup', '--default-branch'].flatMap((flag) => [
      flag,
      'none',
    ]);
    expect((await add('--replace', '--no-credential', ...forgets)).exit).toBe(0);
    expect(await shown()).toMatchObject({
      credential: 'none',
      egress: [],
      environment: {},
      secrets: [],
      setup: null,
      default_branch: null,
    });
  });

  it('A6.1 are removed when it is meant', async () => {
    await farm.admin.call(repoAdd, { name: 'idle', url: 'https://git.example.com/idle' });
    const asked = await cli(['repo', 'remove', 'idle']);
    expect(asked.exit).toBe(5);
    expect((await farm.admin.call(repoList, {})).items.map(({ name }) => name)).toContain('idle');
    expect((await cli(['repo', 'remove', 'idle', '--yes'])).exit).toBe(0);
    expect((await farm.admin.call(repoList, {})).items.map(({ name }) => name)).not.toContain('idle');
  });
});
