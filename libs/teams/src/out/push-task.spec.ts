import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { z } from 'zod';
import { type ForgeKind, type RepositoryCredential, repoAdd, taskDiff, taskPush } from '#contracts';
import { aForge } from '../../../../test/support/forge-fake.js';
import {
  anHttpsOrigin,
  anSshOrigin,
  type HttpsOrigin,
  hasSshd,
  publishInto,
} from '../../../../test/support/git-origin.js';
import { aRepository, type Content, plainGit } from '../../../../test/support/repositories.js';
import { aTeamFarm, patience, person, type TeamFarm } from '../../../../test/support/team-farm.js';
import { tempDir } from '../../../../test/support/temp-dir.js';
import type { Pusher } from './push-task.js';

let origin: HttpsOrigin;
let farm: TeamFarm;
let bare: string;
let base: string;
const token = 'forge-token-canary';
beforeAll(async () => {
  origin = await anHttpsOrigin();
  origin.tokens.set('x-access-token', token);
  farm = await aTeamFarm({
    sources: { privateHosts: ['127.0.0.1/32'], caFile: origin.caFile, resolve: async () => ['127.0.0.1'] },
  });
  await farm.workflow();
  const checkout = aRepository({ 'a.txt': 'one\n' });
  base = plainGit(checkout, ['rev-parse', 'HEAD']);
  bare = origin.publish('team/app', checkout);
  plainGit(bare, ['config', 'http.receivepack', 'true']);
  await register('app');
});
afterAll(() => farm.close());

async function register(
  name: string,
  url = origin.url('team/app'),
  credential: z.input<typeof RepositoryCredential> | null = { kind: 'token', token },
) {
  const registrar = { principal: person, mayNameFolders: false };
  const input = repoAdd.input.parse({
    name,
    url,
    ...(credential && { credential }),
  });
  const judged = await farm.teams.repositories.prepareAdd(registrar, input);
  await farm.tx((tx) => farm.teams.repositories.add(tx, registrar, input, judged));
}

/** A finished Task that started from the repository and changed these files. */
async function aDoneTask(files: Readonly<Record<string, Content>> = { 'b.txt': 'b\n' }, repository = 'app') {
  const { task, worker } = await farm.alone({ repository: { name: repository }, title: 'Mend it' });
  await farm.teams.sweeps.prepareTasks(patience);
  const north = worker('north');
  await north.handOver(await north.begin(), { summary: 'Done', outcome: 'green' }, files);
  const commit = (await farm.view(task)).result?.commit ?? '';
  const branch = `longshore/${task}`;
  const at = () => plainGit(bare, ['for-each-ref', '--format=%(objectname)', `refs/heads/${branch}`]);
  return { task, commit, branch, at };
}

const somebody: Pusher = { principal: person, isPerson: true };
const push = (task: string, more: object = {}, pusher = somebody) =>
  farm.teams.out.push(pusher, taskPush.input.parse({ task_id: task, ...more }), new AbortController().signal);
const sent = () => origin.asked.filter(({ path }) => path.endsWith('/git-receive-pack')).length;
const events = async (task: string, type: string) => (await farm.eventTypes(task)).filter((one) => one === type).length;

describe('the push of a Task', () => {
  it('brings its branch to the origin of its repository, and the same again sends nothing', async () => {
    const { task, commit, branch, at } = await aDoneTask();
    expect(await push(task)).toEqual({
      state: 'pushed',
      branch,
      commit,
      already: false,
      approval: null,
      pull_request: null,
    });
    expect(at()).toBe(commit);
    expect(plainGit(bare, ['show', `${branch}:b.txt`])).toBe('b');
    const before = sent();
    expect(await push(task)).toMatchObject({ state: 'pushed', already: true });
    expect([sent(), await events(task, 'branch_pushed')]).toEqual([before, 1]);
  });

  it('A12.22 looks at the origin before it sends again what may have arrived, and tells one push', async () => {
    const { task, commit, at } = await aDoneTask();
    const { mend } = await farm.breakAt(task, 'branch_pushed');
    const before = sent();
    await expect(push(task)).rejects.toThrow('broken off');
    expect([at(), await events(task, 'branch_pushed')]).toEqual([commit, 0]);
    await mend();
    expect(await push(task)).toMatchObject({ state: 'pushed', already: true });
    expect([sent(), await events(task, 'branch_pushed')]).toEqual([before + 1, 1]);
  });

  it('A12.22 sends what did not arrive, after an origin that broke off', async () => {
    const { task, commit, at } = await aDoneTask();
    origin.instead = (request) => {
      if (!(request.url ?? '').endsWith('/git-receive-pack')) return false;
      request.socket.destroy();
      return true;
    };
    await expect(push(task)).rejects.toMatchObject({ code: 'source_unavailable' });
    origin.instead = undefined;
    expect(at()).toBe('');
    expect(await push(task)).toMatchObject({ state: 'pushed', already: false });
    expect(at()).toBe(commit);
  });

  it('A12.22 has one effect when two ask at once, and none again when the branch was removed after it', async () => {
    const { task, commit, branch, at } = await aDoneTask();
    const both = await Promise.all([push(task), push(task)]);
    expect(both.map(({ state }) => state)).toEqual(['pushed', 'pushed']);
    expect([at(), await events(task, 'branch_pushed')]).toEqual([commit, 1]);
    plainGit(bare, ['update-ref', '-d', `refs/heads/${branch}`]);
    expect(await push(task)).toMatchObject({ already: true });
    expect(at()).toBe('');
  });

  it('H39 touches no branch that somebody else has moved', async () => {
    const { task, branch, at } = await aDoneTask();
    plainGit(bare, ['update-ref', `refs/heads/${branch}`, base]);
    await expect(push(task)).rejects.toMatchObject({ code: 'conflict', hint: expect.stringContaining('Fetch') });
    expect(at()).toBe(base);
    plainGit(bare, ['update-ref', '-d', `refs/heads/${branch}`]);
    expect(await push(task)).toMatchObject({ state: 'pushed', already: false });
    plainGit(bare, ['update-ref', `refs/heads/${branch}`, base]);
    await expect(push(task)).rejects.toMatchObject({ code: 'conflict' });
    expect(at()).toBe(base);
  });

  it('H39 holds a change of a CI file until a person has approved that very change, with the diff shown', async () => {
    const files = { '.github/workflows/release.yml': 'on: push\n', 'b.txt': 'b\n' };
    const { task, commit, at } = await aDoneTask(files);
    const first = await push(task);
    expect(first).toMatchObject({
      state: 'waiting_for_approval',
      commit,
      approval: { files: ['.github/workflows/release.yml'], truncated: false },
    });
    expect(first.approval?.diff).toContain('+on: push');
    expect(first.approval?.diff).not.toContain('b.txt');
    expect([at(), await events(task, 'push_waiting')]).toEqual(['', 1]);
    expect((await farm.view(task)).attention).toMatchObject([{ kind: 'push_approval' }]);
    await push(task);
    expect(await events(task, 'push_waiting')).toBe(1);

    const approve = first.approval?.digest ?? '';
    const agent: Pusher = { principal: 'a_00000001', isPerson: false };
    await expect(push(task, { approve }, agent)).rejects.toMatchObject({ code: 'not_allowed' });
    const other = await aDoneTask({ '.github/workflows/release.yml': 'on: [push, pull_request_target]\n' });
    const theirs = (await push(other.task)).approval?.digest;
    await expect(push(task, { approve: theirs })).rejects.toMatchObject({ code: 'conflict' });
    expect(at()).toBe('');
    expect(await push(task, { approve })).toMatchObject({ state: 'pushed', already: false });
    expect(at()).toBe(commit);
    expect((await farm.view(task)).attention).toEqual([]);
    expect(await push(task, {}, agent)).toMatchObject({ state: 'pushed', already: true });
  });

  it('H39 has no approval for a change of a CI file that is too long to be shown whole', async () => {
    const { task, at } = await aDoneTask({ '.travis.yml': '# filler\n'.repeat(130_000) });
    const { approval } = await push(task);
    expect(approval).toMatchObject({ digest: null, files: ['.travis.yml'], truncated: true });
    const [row] = await farm.sql(`select approval from task_push where task = '${task}'`);
    const approve = String(row?.approval);
    expect(approve).toMatch(/^[0-9a-f]{32}$/);
    await expect(push(task, { approve })).rejects.toMatchObject({
      code: 'conflict',
      hint: expect.stringContaining('by hand'),
    });
    expect(at()).toBe('');
  });

  it('H39 has no approval for a change of a CI file that is not text, and shows one that an attribute calls binary', async () => {
    for (const content of [Buffer.from('script: a\0b\n'), Buffer.from('script: \xfc\n', 'latin1')]) {
      const { task, at } = await aDoneTask({ '.circleci/run.sh': content });
      const { approval } = await push(task);
      expect(approval).toMatchObject({ digest: null, files: ['.circleci/run.sh'], truncated: false, binary: true });
      const [row] = await farm.sql(`select approval from task_push where task = '${task}'`);
      await expect(push(task, { approve: String(row?.approval) })).rejects.toMatchObject({ code: 'conflict' });
      expect(at()).toBe('');
    }
    const hidden = await aDoneTask({ '.travis.yml': 'script: evil\n', '.gitattributes': '*.yml -diff binary\n' });
    const { approval } = await push(hidden.task);
    expect(approval).toMatchObject({ digest: expect.any(String), binary: false });
    expect(approval?.diff).toContain('+script: evil');
  });

  it('H39 names the origin that an approval is for, and holds to it', async () => {
    const name = 'moving';
    await register(name);
    const { task } = await aDoneTask({ '.travis.yml': 'script: good\n' }, name);
    const { approval } = await push(task);
    expect(approval).toMatchObject({ repository: name, origin: origin.url('team/app') });
    const approve = approval?.digest ?? '';
    const moveTo = (url: string) => farm.sql(`update repository set url = '${url}' where name = '${name}'`);
    await moveTo(origin.url('team/elsewhere'));
    await expect(push(task, { approve })).rejects.toMatchObject({ code: 'conflict' });
    await moveTo(origin.url('team/app'));
    expect(await push(task, { approve })).toMatchObject({ state: 'pushed' });
    await moveTo(origin.url('team/elsewhere'));
    expect(await push(task)).toMatchObject({
      state: 'waiting_for_approval',
      approval: { origin: origin.url('team/elsewhere') },
    });
  });

  it('H39 shows what a commit did to a CI file also where a later one took it back', async () => {
    const { task, worker } = await farm.alone({ repository: { name: 'app' }, title: 'Mend it' });
    await farm.teams.sweeps.prepareTasks(patience);
    const north = worker('north');
    const lease = await north.begin();
    await north.handOver(lease, { summary: 'Tried', outcome: 'retry' }, { '.travis.yml': 'script: evil\n' });
    await north.handOver(
      await north.begin(),
      { summary: 'Done', outcome: 'green' },
      { '.travis.yml': 'script: good\n' },
    );
    const { approval } = await push(task);
    expect(approval).toMatchObject({ files: ['.travis.yml'], truncated: false, digest: expect.any(String) });
    expect(approval?.diff).toContain('+script: evil');
    expect(approval?.diff).toContain('+script: good');
  });

  it('H39 holds a link that takes the place of a folder of CI files', async () => {
    const { task, at } = await aDoneTask({
      '.github': { link: 'elsewhere' },
      'elsewhere/workflows/x.yml': 'on: push\n',
    });
    expect(await push(task)).toMatchObject({ state: 'waiting_for_approval', approval: { files: ['.github'] } });
    expect(at()).toBe('');
  });

  it('refuses a Task without an origin, without changes, or without a Result, and says what to do', async () => {
    const { task, worker } = await farm.alone();
    const north = worker('north');
    const lease = await north.begin();
    await expect(push(task)).rejects.toMatchObject({ code: 'not_found' });
    await north.handOver(lease, { summary: 'Done', outcome: 'green' }, { 'b.txt': 'b\n' });
    await expect(push(task)).rejects.toMatchObject({
      code: 'source_refused',
      hint: expect.stringContaining('checkout'),
    });
    const half = await farm.alone({ repository: { name: 'app' } });
    await farm.teams.sweeps.prepareTasks(patience);
    const south = half.worker('south');
    await south.handOver(await south.begin(), { summary: 'Again', outcome: 'retry' }, { 'b.txt': 'b\n' });
    await expect(push(half.task)).rejects.toMatchObject({ code: 'conflict' });
  });

  (hasSshd ? it : it.skip)('goes over ssh with the key of the repository, which opens no pull request', async () => {
    const server = await anSshOrigin();
    const home = tempDir('ssh-origin');
    const path = publishInto(join(home, 'team', 'app.git'), aRepository({ 'a.txt': 'one\n' }));
    await register('by-ssh', server.url(path), { kind: 'ssh_key', private_key: server.key });
    const { task, commit, branch } = await aDoneTask({ 'b.txt': 'b\n' }, 'by-ssh');
    expect(await push(task)).toMatchObject({ state: 'pushed', already: false });
    expect(plainGit(path, ['rev-parse', `refs/heads/${branch}`])).toBe(commit);
    await expect(push(task, { pull_request: true })).rejects.toMatchObject({ code: 'source_refused' });
  });

  it('H22 shows the credential to the origin alone: not in its rows, its record, or what it answers', async () => {
    const { task } = await aDoneTask();
    const answer = await push(task);
    const rows = await farm.sql(`select * from task_push`);
    const record = await farm.sql(`select payload from task_event where task = '${task}'`);
    expect(JSON.stringify([answer, rows, record])).not.toContain(token);
  });
});

describe('the pull request of a Task', () => {
  const withForge = (kind: ForgeKind) => aForge(kind, origin, bare, token);

  it.each(['github', 'gitlab', 'gitea'] as const)(
    'A12.22 is opened once at %s, as its public description says, and named again ever after',
    async (kind) => {
      const forge = withForge(kind);
      const { task, branch } = await aDoneTask();
      // A stranger's fork has a branch of this name, and was faster.
      forge.opened.push({ number: 1, branch, target: 'main', title: 'x', body: '', foreign: true, state: 'open' });
      const said = kind === 'gitea' ? {} : { forge: kind };
      const wanted = { pull_request: true, body: 'What and why.', ...said };
      const first = await push(task, wanted);
      expect(first.pull_request).toMatchObject({ number: 2, state: 'open', created: true });
      expect(forge.opened.slice(1)).toMatchObject([
        { branch, target: 'main', title: 'Mend it', body: 'What and why.', state: 'open' },
      ]);
      const again = await push(task, wanted);
      expect(again.pull_request).toEqual({ ...first.pull_request, created: false });
      const [, one] = forge.opened;
      if (one) one.state = 'merged';
      plainGit(bare, ['update-ref', '-d', `refs/heads/${branch}`]);
      expect((await push(task, wanted)).pull_request).toMatchObject({ number: 2, state: 'merged', created: false });
      expect(forge.opened).toHaveLength(2);
      expect(await events(task, 'pull_request_opened')).toBe(1);
      expect(forge.asked.filter((line) => line.startsWith('fault'))).toEqual([]);
      origin.instead = undefined;
    },
  );

  it.each(['github', 'gitlab', 'gitea'] as const)(
    'A12.22 is the one that somebody opened first at %s, also in the same moment, or whose answer was lost',
    async (kind) => {
      const forge = withForge(kind);
      const wanted = { pull_request: true, forge: kind };
      const raced = await aDoneTask();
      forge.raceNext = true;
      expect((await push(raced.task, wanted)).pull_request).toMatchObject({ number: 1, created: false });
      const lost = await aDoneTask();
      forge.loseNextAnswer = true;
      expect((await push(lost.task, wanted)).pull_request).toMatchObject({ number: 2, created: false });
      expect(forge.opened.map(({ branch }) => branch)).toEqual([raced.branch, lost.branch]);
      origin.instead = undefined;
    },
  );

  it('goes to the branch that is named, and is refused where that is not there', async () => {
    const forge = withForge('gitlab');
    const { task } = await aDoneTask();
    const wanted = { pull_request: true, forge: 'gitlab', title: 'Other words' };
    await expect(push(task, { ...wanted, target: 'nowhere' })).rejects.toMatchObject({ code: 'conflict' });
    plainGit(bare, ['update-ref', 'refs/heads/release', base]);
    await push(task, { ...wanted, target: 'release' });
    expect(forge.opened).toMatchObject([{ target: 'release', title: 'Other words' }]);
    origin.instead = undefined;
  });

  it('is refused, after the push, where the repository has no token or its host is no forge', async () => {
    const plain = await aDoneTask();
    await expect(push(plain.task, { pull_request: true })).rejects.toMatchObject({
      code: 'source_refused',
      hint: expect.stringContaining('--forge'),
    });
    expect(plain.at()).toBe(plain.commit);
    origin.tokens.clear();
    await register('open', origin.url('team/app'), null);
    const tokenless = await aDoneTask({ 'c.txt': 'c\n' }, 'open');
    await expect(push(tokenless.task, { pull_request: true })).rejects.toMatchObject({
      code: 'source_refused',
      hint: expect.stringContaining('--token-file'),
    });
    origin.tokens.set('x-access-token', token);
  });
});

describe('what a Task made, as text', () => {
  it('is a diff or its numbers, finished or not, and a mailbox that `git am` takes', async () => {
    const { task, commit } = await aDoneTask({ 'a.txt': 'two\n', 'b.bin': Buffer.from([0, 1, 2]) });
    const diff = await farm.teams.out.diff({ task_id: task, stat: false });
    expect(diff).toMatchObject({ base, commit, truncated: false, files_changed: 2, additions: 1, deletions: 1 });
    expect(diff.text).toContain('-one\n+two');
    expect(taskDiff.output.parse(diff)).toEqual(diff);
    expect((await farm.teams.out.diff({ task_id: task, stat: true })).text).toContain('a.txt');
    const { path } = await farm.teams.roads.patch(task);
    const clone = join(tempDir('clone'), 'app');
    execFileSync('git', ['clone', '-q', bare, clone], { stdio: 'ignore' });
    plainGit(clone, ['am', '-q', path]);
    expect(readFileSync(join(clone, 'a.txt'), 'utf8')).toBe('two\n');
    expect(existsSync(join(clone, 'b.bin'))).toBe(true);
    expect(plainGit(clone, ['rev-parse', 'HEAD^{tree}'])).toBe(
      plainGit(join(farm.data, 'tasks', task, 'store.git'), ['--git-dir=.', 'rev-parse', `${commit}^{tree}`]),
    );
  });

  it('D7 is empty where nothing changed, and there is no patch', async () => {
    const { task, worker } = await farm.alone();
    const north = worker('north');
    await north.handOver(await north.begin(), { summary: 'Done', outcome: 'green' });
    expect(await farm.teams.out.diff({ task_id: task, stat: false })).toMatchObject({ text: '', files_changed: 0 });
    await expect(farm.teams.roads.patch(task)).rejects.toMatchObject({ code: 'not_found' });
    const fresh = await farm.start();
    expect(await farm.teams.out.diff({ task_id: fresh, stat: true })).toMatchObject({ base: null, commit: null });
  });
});
