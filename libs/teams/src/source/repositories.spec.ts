import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { repoAdd, taskStart } from '#contracts';
import { inspectSource, tidyMirror } from '#git';
import {
  anHttpsOrigin,
  anSshOrigin,
  type HttpsOrigin,
  hasSshd,
  newKey,
  originHost,
  publishInto,
} from '../../../../test/support/git-origin.js';
import { aRepository, commitFiles, plainGit } from '../../../../test/support/repositories.js';
import { aTeamFarm, patience, payloadOf, person, type TeamFarm } from '../../../../test/support/team-farm.js';
import { tempDir } from '../../../../test/support/temp-dir.js';
import { waitUntil } from '../../../../test/support/wait-until.js';

const token = 'canary-token-of-the-origin';
const secret = 'canary-secret-of-the-sandbox';
const registrar = { principal: person, mayNameFolders: false };

let origin: HttpsOrigin;
let farm: TeamFarm;
/** What the farm's name server answers for the origin. */
let addresses = ['127.0.0.1'];
const roots = [tempDir('root')];

beforeAll(async () => {
  origin = await anHttpsOrigin();
  farm = await aTeamFarm({
    sources: { privateHosts: ['127.0.0.1'], roots, caFile: origin.caFile, resolve: async () => addresses },
  });
  await farm.workflow();
});
afterAll(() => farm.close());

async function add(name: string, url: string, more: object = {}, by = registrar) {
  const input = repoAdd.input.parse({ name, url, ...more });
  const read = await farm.teams.repositories.prepareAdd(by, input);
  return farm.tx((tx) => farm.teams.repositories.add(tx, by, input, read));
}

async function check(name: string) {
  const asked = await farm.teams.repositories.prepareCheck(name, new AbortController().signal);
  return farm.tx((tx) => farm.teams.repositories.check(tx, asked));
}

const prepare = () => farm.teams.sweeps.prepareTasks(patience);
const remove = (name: string) => farm.tx((tx) => farm.teams.repositories.remove(tx, name));
const mirrors = () => {
  const folder = join(farm.data, 'mirrors');
  return existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.git')) : [];
};
const baseOf = async (task: string) =>
  (await farm.sql<{ base: string | null }>(`select base from task where id = '${task}'`))[0]?.base;

describe('a registered repository', () => {
  it('is what a Task starts from: its default branch, another branch, a tag or a commit', async () => {
    const checkout = aRepository({ 'a.txt': 'a\n' });
    const first = plainGit(checkout, ['rev-parse', 'HEAD']);
    plainGit(checkout, ['tag', 'v1']);
    const second = commitFiles(checkout, { 'b.txt': 'b\n' }, 'Second');
    plainGit(checkout, ['branch', 'release/1.0', first]);
    origin.publish('app', checkout);
    expect(await add('app', origin.url('app'), { verify: 'npm test' })).toMatchObject({
      name: 'app',
      credential: 'none',
      verify: 'npm test',
    });
    const started = (repository: object) => farm.start({ repository });
    const asked = [
      { name: 'app' },
      { name: 'app', ref: 'release/1.0' },
      { name: 'app', ref: 'v1' },
      { name: 'app', ref: first },
      { url: origin.url('app').replace(/\.git$/, '/') },
    ];
    const tasks = [];
    for (const each of asked) {
      const task = await started(each);
      await prepare();
      tasks.push(task);
    }
    expect(await Promise.all(tasks.map(baseOf))).toEqual([second, first, first, first, second]);
    expect(mirrors()).toHaveLength(1);
    const [row] = await farm.sql(`select settings->'verify' as verify from task where id = '${tasks[0]}'`);
    expect(row).toMatchObject({ verify: { command: 'npm test' } });
    const quiet = await farm.start({ repository: { name: 'app' }, verify: false });
    const [other] = await farm.sql(`select settings->'verify' as verify from task where id = '${quiet}'`);
    expect(other).toEqual({ verify: null });
  });

  it('O12 I22 lacks a file that a Task names: the Task pauses and names it, and goes on when it was pushed', async () => {
    const checkout = aRepository({ 'a.txt': 'a\n' });
    origin.publish('lacking', checkout);
    await add('lacking', origin.url('lacking'));
    const files = [{ path: 'a.txt' }, { path: 'docs/plan.md' }];
    const task = await farm.start({ repository: { name: 'lacking' }, files });
    await prepare();
    const { pause_reason, attention } = await farm.view(task);
    expect(pause_reason).toBe('source_unavailable');
    expect(attention[0]?.summary).toContain('docs/plan.md is not there');
    expect(attention[0]?.summary).not.toContain('a.txt');
    expect(await farm.sql(`select 1 from job where scope = '${task}'`)).toEqual([]);
    commitFiles(checkout, { 'docs/plan.md': 'p\n' }, 'The plan');
    origin.publish('lacking', checkout);
    await farm.control(task, 'resume');
    await prepare();
    expect(await farm.view(task)).toMatchObject({ status: 'running', attention: [] });
  });

  it('ends a preparation with a clear reason and a way out, and Resume tries again', async () => {
    origin.publish('branches', aRepository());
    await add('branches', origin.url('branches'), { default_branch: 'develop' });
    const task = await farm.start({ repository: { name: 'branches' } });
    await prepare();
    expect(await farm.view(task)).toMatchObject({
      status: 'paused',
      pause_reason: 'source_unavailable',
      attention: [{ kind: 'source_unavailable', summary: expect.stringContaining('no branch, tag or commit') }],
    });
    const wrong = await farm.start({ repository: { name: 'branches', ref: 'release-9' } });
    await prepare();
    const summary = (await farm.view(wrong)).attention[0]?.summary;
    expect(summary).toContain('no branch, tag or commit release-9. Its newest branches: main.');
    expect(summary).toContain('with a --ref that is there');
    // the mirror is there now: the next one is told at its start
    const warned = async (ref: string) =>
      farm.teams.tasks.prepareStart(
        { principal: person },
        taskStart.input.parse({ prompt: 'x', repository: { name: 'branches', ref } }),
      );
    expect(await warned('release-9')).toEqual([expect.stringContaining('no branch, tag or commit release-9')]);
    expect(await warned('main')).toEqual([]);
    await add('branches', origin.url('branches'), { default_branch: null, replace: true });
    await farm.control(task, 'resume');
    await prepare();
    expect(await farm.view(task)).toMatchObject({ status: 'running' });
    origin.publish('empty');
    await add('empty', origin.url('empty'));
    const none = await farm.start({ repository: { name: 'empty' } });
    await prepare();
    expect((await farm.view(none)).attention[0]?.summary).toContain('The origin is empty');
    expect(await check('empty')).toMatchObject({ usable: false, problem: { code: 'source_unavailable' } });
  });

  it('H30 is asked again with its credential at each start: one that was taken back starts nothing', async () => {
    origin.publish('closed', aRepository());
    origin.tokens.set('x-access-token', token);
    try {
      await add('closed', origin.url('closed'), { credential: { kind: 'token', token } });
      const first = await farm.start({ repository: { name: 'closed' } });
      await prepare();
      expect(await farm.view(first)).toMatchObject({ status: 'running' });
      origin.tokens.set('x-access-token', 'another');
      const second = await farm.start({ repository: { name: 'closed' } });
      await prepare();
      const view = await farm.view(second);
      expect(view).toMatchObject({ status: 'paused', pause_reason: 'source_unavailable' });
      expect(view.attention[0]?.summary).toMatch(/credential.*--token-file/);
      expect(await check('closed')).toMatchObject({
        usable: false,
        problem: { detail: expect.stringContaining('credential') },
      });
      await add('closed', origin.url('closed'), { credential: { kind: 'token', token: 'another' }, replace: true });
      await farm.control(second, 'resume');
      await prepare();
      expect(await farm.view(second)).toMatchObject({ status: 'running' });
    } finally {
      origin.tokens.clear();
    }
  });

  it('H30 keeps mirrors apart by project, credential and URL', async () => {
    origin.publish('apart', aRepository());
    const before = mirrors().length;
    const variants = [
      {},
      { project: 'other' },
      { credential: { kind: 'token', token: 'one' } },
      { credential: { kind: 'token', token: 'two' } },
      { credential: { kind: 'token', token: 'two', username: 'robot' } },
    ];
    for (const [at, variant] of variants.entries()) {
      await add(`apart-${at}`, origin.url('apart'), variant);
      await farm.start({ repository: { name: `apart-${at}` } });
      await prepare();
    }
    expect(mirrors()).toHaveLength(before + variants.length);
    await add('apart-same', origin.url('apart'), { project: 'other' });
    await farm.start({ repository: { name: 'apart-same' } });
    await prepare();
    expect(mirrors()).toHaveLength(before + variants.length);
    await expect(farm.start({ repository: { url: origin.url('apart') } })).rejects.toMatchObject({
      code: 'conflict',
      hint: expect.stringContaining('apart-0, apart-1'),
    });
  });

  it('H30 judges its address again at each fetch: a name that answers otherwise later is refused', async () => {
    origin.publish('rebound', aRepository());
    await add('rebound', origin.url('rebound'));
    for (const [answer, what] of [
      ['169.254.169.254', 'metadata service'],
      ['10.0.0.7', 'private'],
      ['::1', 'loopback'],
    ] as const) {
      addresses = ['127.0.0.1', answer];
      const asked = origin.asked.length;
      const task = await farm.start({ repository: { name: 'rebound' } });
      await prepare();
      expect((await farm.view(task)).attention[0]?.summary).toContain(what);
      expect(await check('rebound')).toMatchObject({ usable: false, problem: { code: 'source_refused' } });
      expect(origin.asked).toHaveLength(asked);
    }
    addresses = ['127.0.0.1'];
    expect(await check('rebound')).toMatchObject({ usable: true, branch: 'main' });
  });

  it('H30 never shows a credential or a secret: sealed in its row, in no answer, event or file', async () => {
    origin.publish('sealed', aRepository());
    origin.tokens.set('x-access-token', token);
    try {
      const view = await add('sealed', origin.url('sealed'), {
        credential: { kind: 'token', token },
        secrets: { NPM_TOKEN: secret },
        environment: { CI: 'true' },
      });
      expect(view).toMatchObject({ credential: 'token', secrets: ['NPM_TOKEN'], environment: { CI: 'true' } });
      const task = await farm.start({ repository: { name: 'sealed' } });
      await prepare();
      const said = [
        JSON.stringify([view, await check('sealed'), await farm.view(task)]),
        JSON.stringify(await farm.tx((tx) => farm.teams.repositories.list(tx, { limit: 50 }))),
        JSON.stringify(await farm.sql('select payload from task_event')),
        JSON.stringify(await farm.sql('select payload, result from job')),
        (await farm.sql<{ row: string }>(`select r::text as row from repository r`)).map(({ row }) => row).join(),
        (await farm.sql<{ row: string }>(`select s::text as row from repository_secret s`))
          .map(({ row }) => row)
          .join(),
        filesBelow(farm.data),
      ];
      for (const canary of [token, secret, Buffer.from(token).toString('hex'), Buffer.from(secret).toString('hex')])
        expect(said.filter((text) => text.includes(canary))).toEqual([]);
    } finally {
      origin.tokens.clear();
    }
  });

  it('gives its settings and opened secrets to the holder of the lease alone', async () => {
    await add('lent', origin.url('app'), {
      setup: 'npm ci',
      egress: ['registry.example.com'],
      environment: { CI: 'true' },
      secrets: { NPM_TOKEN: secret },
    });
    const { worker } = await farm.alone({ repository: { name: 'lent' } });
    const [north, south] = [worker('north'), worker('south')];
    const lease = await north.claim();
    expect(JSON.stringify(lease)).not.toContain(secret);
    expect(await farm.teams.roads.settings(north.shown(lease))).toEqual({
      repository: {
        name: 'lent',
        project: 'default',
        origin: origin.url('app'),
        setup: 'npm ci',
        verify: null,
        egress: ['registry.example.com'],
        environment: { CI: 'true' },
        secrets: { NPM_TOKEN: secret },
      },
    });
    for (const wrong of [south.shown(lease), { ...north.shown(lease), epoch: 9 }])
      await expect(farm.teams.roads.settings(wrong)).rejects.toMatchObject({ code: 'stale_lease' });
    await add('lent', origin.url('app'), { setup: null, secrets: {}, replace: true });
    expect(await farm.teams.roads.settings(north.shown(lease))).toMatchObject({
      repository: { setup: null, egress: ['registry.example.com'], secrets: {} },
    });
    await expect(remove('lent')).rejects.toMatchObject({
      code: 'conflict',
      hint: expect.stringContaining('cancel them'),
    });
    const empty = await farm.alone();
    const other = empty.worker('east');
    expect(await farm.teams.roads.settings(other.shown(await other.claim()))).toEqual({ repository: null });
  });

  it('H19 lends nothing to a Task: origin rewritten and every mirror cleaned in mid-Task, the work goes on', async () => {
    const checkout = aRepository({ 'a.txt': 'first\n' });
    const base = commitFiles(checkout, { 'b.txt': 'second\n' }, 'Second');
    origin.publish('rewritten', checkout);
    await add('rewritten', origin.url('rewritten'));
    const { task, worker } = await farm.alone({ repository: { name: 'rewritten' } });
    const machine = worker('north');
    const lease = await machine.begin();
    expect(payloadOf(lease).base).toBe(base);

    plainGit(checkout, ['checkout', '-q', '--orphan', 'new']);
    commitFiles(checkout, { 'a.txt': 'other\n' }, 'Another history');
    plainGit(checkout, ['branch', '-q', '-M', 'new', 'main']);
    const bare = origin.publish('rewritten', checkout);
    plainGit(bare, ['gc', '-q', '--prune=now']);
    await farm.start({ repository: { name: 'rewritten' } });
    await prepare();
    for (const mirror of mirrors()) await tidyMirror(join(farm.data, 'mirrors', mirror));
    rmSync(join(farm.data, 'mirrors'), { recursive: true });

    await machine.handOver(lease, { summary: 'Done', outcome: 'green' }, { 'c.txt': 'c\n' });
    const view = await farm.view(task);
    expect(view).toMatchObject({ status: 'completed', result: { base, files_changed: [{ path: 'c.txt' }] } });
    const store = join(farm.data, 'tasks', task, 'store.git');
    expect(plainGit(store, ['fsck', '--full', '--strict', view.result?.commit ?? ''])).toBe('');
    expect(existsSync(join(store, 'objects', 'info', 'alternates'))).toBe(false);
  });

  it('says what the commit only points to, at the check and in the record of the Task', async () => {
    const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${'a'.repeat(64)}\nsize 4096\n`;
    const checkout = aRepository({ '.gitattributes': '*.psd filter=lfs\n', 'one.psd': pointer });
    const inner = plainGit(aRepository(), ['rev-parse', 'HEAD']);
    plainGit(checkout, ['update-index', '--add', '--cacheinfo', `160000,${inner},libs/inner`]);
    plainGit(checkout, ['commit', '-q', '-m', 'Submodule']);
    origin.publish('pointing', checkout);
    await add('pointing', origin.url('pointing'));
    expect(await check('pointing')).toMatchObject({
      usable: true,
      commit: plainGit(checkout, ['rev-parse', 'HEAD']),
      lfs: { files: 1, bytes: 4096, paths: ['one.psd'] },
      submodules: [{ path: 'libs/inner', commit: inner, url: null }],
      notes: [expect.stringContaining('git-lfs'), expect.stringContaining('submodule')],
    });
    const task = await farm.start({ repository: { name: 'pointing' } });
    await prepare();
    const [event] = await farm.sql<{ payload: object }>(
      `select payload from task_event where task = '${task}' and type = 'task_prepared'`,
    );
    expect(event?.payload).toMatchObject({
      source: { ref: 'main', lfs: { files: 1, bytes: 4096 }, submodules: [{ path: 'libs/inner' }] },
    });
    expect((await farm.view(task)).activities).toMatchObject([
      { kind: 'task_prepared', summary: expect.stringContaining('1 file is kept by git-lfs') },
      { kind: 'task_started' },
    ]);
    expect(await inspectSource(join(farm.data, 'tasks', task, 'store.git'), (await baseOf(task)) ?? '')).toMatchObject({
      lfs: { files: 1 },
    });
  });

  it('D19 leaves the Task preparing while its origin is slow, holds up nobody else, and a cancel breaks it off', async () => {
    origin.publish('slow', aRepository());
    await add('slow', origin.url('slow'));
    const waiting: (() => void)[] = [];
    origin.instead = (request) => {
      if (!request.url?.startsWith('/slow.git')) return false;
      const { promise, resolve } = Promise.withResolvers<void>();
      request.socket.once('close', resolve);
      waiting.push(() => void promise);
      return true;
    };
    const slow = await farm.start({ repository: { name: 'slow' } });
    const looking = farm.teams.sweeps.prepareTasks(patience);
    await waitUntil(() => waiting.length > 0, { what: 'the origin is asked' });
    const quick = await farm.start();
    const near = await farm.start({ repository: { name: 'app' } });
    await prepare();
    expect([await farm.view(slow), await farm.view(quick), await farm.view(near)]).toMatchObject([
      { status: 'preparing' },
      { status: 'running' },
      { status: 'running' },
    ]);
    await farm.control(slow, 'cancel');
    await looking;
    expect(await farm.view(slow)).toMatchObject({ status: 'cancelled' });
    origin.instead = undefined;
  });

  it('H30 is fetched by one controller at a time into its mirror, and all who wait for it begin', async () => {
    const checkout = aRepository({ 'a.txt': 'shared\n' });
    origin.publish('shared', checkout);
    await add('shared', origin.url('shared'));
    const tasks = await Promise.all([1, 2, 3].map(() => farm.start({ repository: { name: 'shared' } })));
    const others = [farm.another(), farm.another()].map(({ teams }) => teams);
    let together = 0;
    let most = 0;
    origin.instead = (request, response) => {
      if (!request.url?.startsWith('/shared.git')) return false;
      together += 1;
      most = Math.max(most, together);
      response.once('close', () => {
        together -= 1;
      });
      return false;
    };
    const troubles = farm.troubles.length;
    for (let round = 0; round < 3; round += 1)
      await Promise.all([farm.teams, ...others].map((teams) => teams.sweeps.prepareTasks(patience)));
    origin.instead = undefined;
    expect(await Promise.all(tasks.map(baseOf))).toEqual(tasks.map(() => plainGit(checkout, ['rev-parse', 'HEAD'])));
    expect(most).toBe(1);
    expect(farm.troubles).toHaveLength(troubles);
  });

  it('may be registered after its URL was named: Resume finds the credential that was missing', async () => {
    origin.publish('later', aRepository());
    origin.tokens.set('x-access-token', token);
    try {
      const { task, worker } = await farm.alone({ repository: { url: origin.url('later') } });
      expect((await farm.view(task)).attention[0]?.summary).toContain('Register the repository with a token');
      await add('later', origin.url('later'), { credential: { kind: 'token', token }, setup: 'make' });
      await farm.control(task, 'resume');
      await prepare();
      expect(await farm.view(task)).toMatchObject({ status: 'running' });
      const machine = worker('north');
      expect(await farm.teams.roads.settings(machine.shown(await machine.claim()))).toMatchObject({
        repository: { name: 'later', setup: 'make' },
      });
    } finally {
      origin.tokens.clear();
    }
  });

  it('H30 leaves no credential of a controller that was killed, and no mirror that nobody uses', async () => {
    const scratch = join(farm.data, 'mirrors', 'scratch');
    const [left, mine] = [join(scratch, 'tmp-left'), join(scratch, 'tmp-mine')];
    for (const folder of [left, mine]) {
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, 'credentials'), token);
    }
    const longAgo = new Date(Date.now() - 2 * 3_600_000);
    utimesSync(left, longAgo, longAgo);
    const [unused, used] = mirrors();
    const weeksAgo = new Date(Date.now() - 15 * 86_400_000);
    utimesSync(join(farm.data, 'mirrors', unused ?? '', 'HEAD'), weeksAgo, weeksAgo);
    expect(await farm.teams.sweeps.expireMirrors()).toBe(1);
    expect([existsSync(left), existsSync(mine)]).toEqual([false, true]);
    expect(mirrors()).not.toContain(unused);
    expect(mirrors()).toContain(used);
    rmSync(mine, { recursive: true });
  });

  it('goes with its secrets and its mirror, when no Task needs it', async () => {
    origin.publish('gone', aRepository());
    await add('gone', origin.url('gone'), { secrets: { A: 'b' } });
    const before = mirrors().length;
    const task = await farm.start({ repository: { name: 'gone' } });
    await prepare();
    expect(mirrors()).toHaveLength(before + 1);
    await expect(remove('gone')).rejects.toMatchObject({ code: 'conflict' });
    await farm.control(task, 'cancel');
    await remove('gone');
    await waitUntil(() => mirrors().length === before, { what: 'the mirror is removed' });
    expect(await farm.sql(`select * from repository_secret where name = 'A'`)).toEqual([]);
    await expect(remove('gone')).rejects.toMatchObject({ code: 'not_found' });
    await expect(check('gone')).rejects.toMatchObject({ code: 'not_found' });
    await expect(farm.start({ repository: { name: 'gone' } })).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('what is no source', () => {
  it('H30 is refused when it is named, each by its own reason', async () => {
    const refused = (url: string) =>
      farm
        .start({ repository: { url } })
        .catch((error: { code: string; detail: string }) => `${error.code}: ${error.detail}`);
    expect(await refused('file:///etc')).toContain('source_refused: A file: URL is refused');
    expect(await refused('ext::sh%20-c%20id')).toContain('runs a program');
    expect(await refused('/etc')).toContain('only when an admin has registered it');
    expect(await refused(farm.data)).toContain('only when an admin has registered it');
    expect(await refused('git@host.example:app.git')).toContain('no key that opens it');
    expect(await refused('https://u:p@host.example/app')).toContain('holds a credential');
    const task = await farm.start({ repository: { url: 'https://169.254.169.254/latest/meta-data' } });
    await prepare();
    expect((await farm.view(task)).attention[0]?.summary).toContain('metadata service');
    await expect(farm.start({ repository: { url: 'https://h.example/a' }, source: bundle })).rejects.toMatchObject({
      code: 'invalid_input',
    });
  });

  it('H30 is a folder of the controller, but for an admin at the command line inside an open root', async () => {
    const checkout = aRepository({ 'a.txt': 'local\n' });
    const path = publishInto(join(roots[0] ?? '', 'local.git'), checkout);
    await expect(add('folder', path)).rejects.toMatchObject({ detail: expect.stringContaining('only for an admin') });
    const admin = { principal: person, mayNameFolders: true };
    await expect(add('folder', farm.data, {}, admin)).rejects.toMatchObject({
      detail: expect.stringContaining('data folder'),
    });
    await expect(add('folder', aRepository(), {}, admin)).rejects.toMatchObject({ code: 'source_refused' });
    await add('folder', path, {}, admin);
    const task = await farm.start({ repository: { name: 'folder' } });
    await prepare();
    expect(await baseOf(task)).toBe(plainGit(checkout, ['rev-parse', 'HEAD']));
    expect(await check('folder')).toMatchObject({ usable: true, branch: 'main' });
  });

  it('H30 is not reached with the credential of another host', async () => {
    await add('mine', 'https://git.one.example/app', { credential: { kind: 'token', token } });
    await expect(add('mine', 'https://evil.example/app', { replace: true })).rejects.toMatchObject({
      code: 'source_refused',
      detail: expect.stringContaining('another host'),
    });
    await expect(add('mine', 'https://git.one.example/other', { replace: true })).resolves.toMatchObject({
      credential: 'token',
      url: 'https://git.one.example/other',
    });
    await expect(
      add('mine', 'https://evil.example/app', { replace: true, credential: { kind: 'none' } }),
    ).resolves.toMatchObject({ credential: 'none' });
  });

  it('is refused by name: a taken name, an unknown one, one name for two variables', async () => {
    await add('taken', 'https://h.example/a');
    await expect(add('taken', 'https://h.example/b')).rejects.toMatchObject({ code: 'conflict' });
    await expect(add('nowhere', 'https://h.example/b', { replace: true })).rejects.toMatchObject({ code: 'not_found' });
    await expect(
      add('twice', 'https://h.example/b', { environment: { A: '1' }, secrets: { A: '2' } }),
    ).rejects.toMatchObject({ code: 'conflict', detail: expect.stringContaining('environment and among the secrets') });
    await expect(add('keys', 'https://h.example/b', { host_keys: 'h ssh-ed25519 AAAA' })).rejects.toMatchObject({
      detail: expect.stringContaining('ssh URLs only'),
    });
    const input = (more: object) => repoAdd.input.safeParse({ name: 'x', url: 'https://h.example/a', ...more }).success;
    const fits = [{}, { default_branch: 'release/1.0' }, { egress: ['*.example.com', 'h.example:8443'] }];
    expect(fits.map(input)).toEqual([true, true, true]);
    const misfits = [
      { name: '../x' },
      { default_branch: '--upload-pack=x' },
      { default_branch: 'a..b' },
      { default_branch: 'a b' },
      { egress: ['https://h.example'] },
      { environment: { 'A=B': 'x' } },
      { environment: { LONGSHORE_DATA: 'x' } },
      { secrets: { A: '\u0000' } },
      { credential: { kind: 'token', token: 'two\nlines' } },
      { credential: { kind: 'token', token: '' } },
      { setup: '   ' },
      { url: 'x\u0000' },
    ];
    expect(misfits.map(input)).toEqual(misfits.map(() => false));
  });
});

(hasSshd ? describe : describe.skip)('a repository behind ssh', () => {
  it('is opened with its own key, keeps the host key of the first contact, and refuses another one', async () => {
    const ssh = await anSshOrigin();
    const checkout = aRepository({ 'a.txt': 'ssh\n' });
    const path = publishInto(join(tempDir('ssh'), 'app.git'), checkout);
    await add('ssh', ssh.url(path), { credential: { kind: 'ssh_key', private_key: ssh.key } });
    expect(await check('ssh')).toMatchObject({
      usable: true,
      host_keys: [expect.stringMatching(/^ssh-ed25519 SHA256:/)],
      notes: [expect.stringContaining('first time')],
    });
    const task = await farm.start({ repository: { url: ssh.url(path) } });
    await prepare();
    expect(await baseOf(task)).toBe(plainGit(checkout, ['rev-parse', 'HEAD']));
    await ssh.changeHostKey();
    const second = await farm.start({ repository: { name: 'ssh' } });
    await prepare();
    expect((await farm.view(second)).attention[0]?.summary).toContain('another key');
    await add('ssh', ssh.url(path), { host_keys: ssh.hostKeys, replace: true });
    await farm.control(second, 'resume');
    await prepare();
    expect(await farm.view(second)).toMatchObject({ status: 'running' });
    const stranger = readFileSync(newKey(tempDir('key'), 'stranger'), 'utf8');
    await add('ssh', ssh.url(path), { credential: { kind: 'ssh_key', private_key: stranger }, replace: true });
    expect(await check('ssh')).toMatchObject({
      problem: { detail: expect.stringContaining('does not accept the ssh key') },
    });
    expect(originHost).toBe('git.example.test');
  });
});

const bundle = {
  kind: 'bundle' as const,
  sha256: 'a'.repeat(64),
  commit: 'b'.repeat(40),
  head: 'b'.repeat(40),
  dirty: false,
};

function filesBelow(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    .join('\n');
}
