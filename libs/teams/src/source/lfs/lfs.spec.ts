import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { limits, repoAdd } from '#contracts';
import {
  anHttpsOrigin,
  type HttpsOrigin,
  lfsPass,
  lfsPointer,
  originHost,
} from '../../../../../test/support/git-origin.js';
import { aRepository, commitFiles } from '../../../../../test/support/repositories.js';
import { aTeamFarm, patience, person, type TeamFarm } from '../../../../../test/support/team-farm.js';
import { tempDir } from '../../../../../test/support/temp-dir.js';

const token = 'canary-token-of-the-origin';
const registrar = { principal: person, mayNameFolders: true };
const sha256 = (content: Buffer): string => createHash('sha256').update(content).digest('hex');

let origin: HttpsOrigin;
/** Another host, where a batch may say that objects lie. */
let store: HttpsOrigin;
let farm: TeamFarm;
const otherHost = 'objects.example.test';
let addresses: Readonly<Record<string, readonly string[]>> = {};
const resolved: string[] = [];
const roots = [tempDir('root')];

beforeAll(async () => {
  [origin, store] = await Promise.all([anHttpsOrigin(), anHttpsOrigin([otherHost])]);
  const caFile = join(tempDir('ca'), 'both.pem');
  writeFileSync(caFile, [origin.caFile, store.caFile].map((path) => readFileSync(path, 'utf8')).join('\n'));
  farm = await aTeamFarm({
    sources: {
      privateHosts: ['127.0.0.1'],
      roots,
      caFile,
      resolve: async (host) => {
        resolved.push(host);
        return addresses[host] ?? ['127.0.0.1'];
      },
    },
  });
  await farm.workflow();
});
afterAll(() => farm.close());
afterEach(() => {
  addresses = {};
  origin.instead = undefined;
  origin.lfsPlace = undefined;
  origin.tokens.clear();
});

async function add(name: string, url: string, more: object = {}) {
  const input = repoAdd.input.parse({ name, url, ...more });
  const read = await farm.teams.repositories.prepareAdd(registrar, input);
  return farm.tx((tx) => farm.teams.repositories.add(tx, registrar, input, read));
}

let named = 0;
/** A published repository with these files kept by git-lfs, registered to be fetched. */
async function aRepositoryOf(contents: readonly Buffer[], more: object = {}) {
  named += 1;
  const name = `lfs-${named}`;
  const pointers = contents.map((content, at) => [`${at}.bin`, lfsPointer(origin, content)] as const);
  const checkout = aRepository({ '.gitattributes': '*.bin filter=lfs\n', ...Object.fromEntries(pointers) });
  origin.publish(name, checkout);
  await add(name, origin.url(name), { fetch: { lfs: true }, ...more });
  return { name, checkout };
}

async function refusalOf(name: string) {
  const task = await farm.start({ repository: { name } });
  await farm.teams.sweeps.prepareTasks(patience);
  const view = await farm.view(task);
  return { status: view.status, reason: view.pause_reason, summary: view.attention[0]?.summary, task };
}

const askedOf = (server: HttpsOrigin, path: string) => server.asked.filter((each) => each.path.startsWith(path));
const contentOf = (path: string) => readFileSync(path);

describe('the files of git-lfs of a repository that is registered so', () => {
  it('are fetched once for all its Tasks, given to the jobs of each, and told in its activities', async () => {
    const contents = [Buffer.from('one of ours'), Buffer.alloc(200_000, 'two of ours')];
    const { name } = await aRepositoryOf(contents);
    const oids = contents.map(sha256).toSorted();
    const { task, worker } = await farm.alone({ repository: { name } });
    const north = worker('north');
    const lease = await north.claim();
    const settings = await farm.teams.roads.settings(north.shown(lease));
    expect(settings.repository?.lfs?.toSorted()).toEqual(oids);
    for (const content of contents) {
      const file = await farm.teams.roads.lfs(north.shown(lease), sha256(content));
      expect([file.size, contentOf(file.path).equals(content)]).toEqual([content.length, true]);
    }
    expect((await farm.view(task)).activities).toContainEqual(
      expect.objectContaining({ kind: 'task_prepared', summary: expect.stringContaining('hold the contents') }),
    );
    const before = askedOf(origin, '/lfs-objects/').length;
    await farm.alone({ repository: { name } });
    expect(askedOf(origin, '/lfs-objects/')).toHaveLength(before);
    // the Task owns what it took (H19)
    for (const mirror of readdirSync(join(farm.data, 'mirrors')).filter((file) => file.endsWith('.lfs')))
      rmSync(join(farm.data, 'mirrors', mirror), { recursive: true });
    const [first = ''] = oids;
    expect(existsSync((await farm.teams.roads.lfs(north.shown(lease), first)).path)).toBe(true);
  });

  it('H29 gives a job no other file than its own Task has', async () => {
    const [mine, other] = [Buffer.from('mine'), Buffer.from('of another')];
    const one = await aRepositoryOf([mine]);
    const two = await aRepositoryOf([other]);
    const north = (await farm.alone({ repository: { name: one.name } })).worker('north');
    const lease = await north.claim();
    await farm.alone({ repository: { name: two.name } });
    const get = (oid: string, shown = north.shown(lease)) => farm.teams.roads.lfs(shown, oid);
    expect((await get(sha256(mine))).size).toBe(4);
    await expect(get(sha256(other))).rejects.toMatchObject({ code: 'not_available' });
    await expect(get('../store.git/HEAD')).rejects.toMatchObject({ code: 'not_available' });
    await expect(get(sha256(mine), { ...north.shown(lease), epoch: 9 })).rejects.toMatchObject({ code: 'stale_lease' });
  });

  it('are no part of a Task whose repository does not ask for them', async () => {
    const { name } = await aRepositoryOf([Buffer.from('not wanted')], { fetch: { lfs: false } });
    const { task, worker } = await farm.alone({ repository: { name } });
    const north = worker('north');
    expect((await farm.teams.roads.settings(north.shown(await north.claim()))).repository).not.toHaveProperty('lfs');
    expect((await farm.view(task)).activities).toContainEqual(
      expect.objectContaining({ kind: 'task_prepared', summary: expect.stringContaining('hold the pointers') }),
    );
    expect(askedOf(origin, `/${name}.git/info/lfs`)).toEqual([]);
  });

  it('are those of the branch as it is when a paused Task is resumed', async () => {
    const { name, checkout } = await aRepositoryOf([Buffer.from('first state')]);
    origin.lfs.delete(sha256(Buffer.from('first state')));
    const { task, reason, summary } = await refusalOf(name);
    expect([reason, summary]).toEqual(['source_unavailable', expect.stringContaining('does not have a file')]);
    const second = Buffer.from('second state');
    commitFiles(checkout, { '0.bin': lfsPointer(origin, second) }, 'Second');
    origin.publish(name, checkout);
    await farm.control(task, 'resume');
    await farm.teams.sweeps.prepareTasks(patience);
    expect((await farm.view(task)).status).toBe('running');
    expect(readdirSync(join(farm.data, 'tasks', task, 'lfs'))).toEqual([sha256(second)]);
  });
});

describe('the LFS server of an origin', () => {
  it('H30 is the one at the URL of the repository, whatever .lfsconfig says, and gets its credential alone', async () => {
    origin.tokens.set('x-access-token', token);
    const content = Buffer.from('behind a token');
    const name = 'lfs-config';
    const checkout = aRepository({
      '.gitattributes': '*.bin filter=lfs\n',
      '.lfsconfig': `[lfs]\n\turl = https://${otherHost}:${store.port}/elsewhere\n`,
      'a.bin': lfsPointer(origin, content),
    });
    origin.publish(name, checkout);
    store.lfs.set(sha256(content), content);
    origin.lfsPlace = (oid) => ({ href: `https://${otherHost}:${store.port}/lfs-objects/${oid}`, header: lfsPass });
    const credential = { kind: 'token', username: 'x-access-token', token };
    await add(name, origin.url(name), { fetch: { lfs: true }, credential });
    const task = await farm.start({ repository: { name } });
    await farm.teams.sweeps.prepareTasks(patience);
    expect((await farm.view(task)).status).toBe('running');
    expect(askedOf(origin, `/${name}.git/info/lfs/`)).toEqual([
      { path: `/${name}.git/info/lfs/objects/batch`, user: 'x-access-token' },
    ]);
    // the place that the answer named is at another host: judged, asked for one object, and shown no credential
    expect(store.asked).toEqual([{ path: `/lfs-objects/${sha256(content)}`, user: undefined }]);
    expect(resolved).toContain(otherHost);
  });

  it('H30 sends nobody to an address that is not allowed, nor anywhere without https', async () => {
    const places: Readonly<Record<string, string>> = {
      'a link-local address': `https://${otherHost}:${store.port}/lfs-objects/x`,
      'a private address': 'https://10.0.0.7/x',
      'no admin has listed it': 'https://[::ffff:169.254.169.254]/latest',
      'not plain https': `http://${originHost}:${origin.port}/x`,
      'plain https': `https://user:word@${originHost}:${origin.port}/x`,
    };
    addresses = { [otherHost]: ['169.254.169.254'] };
    const before = store.asked.length;
    for (const [said, href] of Object.entries(places)) {
      const { name } = await aRepositoryOf([Buffer.from(`at ${href}`)]);
      origin.lfsPlace = () => ({ href });
      expect(await refusalOf(name)).toMatchObject({ status: 'paused', summary: expect.stringContaining(said) });
    }
    expect(store.asked).toHaveLength(before);
  });

  it('H30 moves nobody on: a redirect of the batch or of an object is refused', async () => {
    const { name } = await aRepositoryOf([Buffer.from('moved on')]);
    const before = store.asked.length;
    for (const where of ['/info/lfs/', '/lfs-objects/']) {
      origin.instead = (request, response) => {
        if (request.url?.includes(where) !== true) return false;
        response.writeHead(307, { location: `https://${otherHost}:${store.port}${request.url}` }).end();
        return true;
      };
      expect(await refusalOf(name)).toMatchObject({
        status: 'paused',
        summary: expect.stringContaining('redirects are not followed'),
      });
    }
    expect(store.asked).toHaveLength(before);
  });

  it('is believed nothing: other content, less, more, another answer, none', async () => {
    const content = Buffer.from('what it should be');
    const { name } = await aRepositoryOf([content]);
    const wrong: Readonly<Record<string, Buffer>> = {
      other: Buffer.from('what it shouldnot'),
      less: content.subarray(1),
      more: Buffer.concat([content, content]),
    };
    for (const bytes of Object.values(wrong)) {
      origin.lfs.set(sha256(content), bytes);
      expect((await refusalOf(name)).summary).toContain('another content');
    }
    origin.lfs.set(sha256(content), content);
    const answers: readonly (readonly [number, string, string])[] = [
      [200, '<html>', 'in another way'],
      [200, JSON.stringify({ transfer: 'tus', objects: [] }), 'in another way'],
      [200, JSON.stringify({ objects: [] }), 'does not have a file'],
      [200, `{"objects": ["${'x'.repeat(limits.lfsBatchReplyBytes)}"]}`, 'more than a batch'],
      [403, '', 'wants a credential'],
      [404, '', 'no LFS server'],
      [503, '', '503'],
    ];
    for (const [status, body, said] of answers) {
      origin.instead = (request, response) => {
        if (request.url?.includes('/info/lfs/') !== true) return false;
        response.writeHead(status).end(body);
        return true;
      };
      expect((await refusalOf(name)).summary).toContain(said);
    }
    origin.instead = undefined;
    expect((await refusalOf(name)).status).toBe('running');
    expect(JSON.stringify(farm.troubles)).toBe('[]');
  });

  it('is asked for nothing that is over a limit', async () => {
    const content = Buffer.from('small');
    const { name, checkout } = await aRepositoryOf([content]);
    const pointer = lfsPointer(origin, content).replace('size 5', `size ${limits.lfsObjectBytes + 1}`);
    commitFiles(checkout, { '0.bin': pointer }, 'Too large');
    origin.publish(name, checkout);
    expect((await refusalOf(name)).summary).toContain('over a limit');
    expect(askedOf(origin, `/${name}.git/info/lfs`)).toEqual([]);
  });

  it('is asked over https only: other origins say so when they are registered', async () => {
    const key = { kind: 'ssh_key', private_key: '-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----\n' };
    await expect(
      add('by-ssh', 'git@git.example.test:a.git', { fetch: { lfs: true }, credential: key }),
    ).rejects.toMatchObject({ code: 'source_refused', detail: expect.stringContaining('https only') });
    expect(await add('by-https', origin.url('x'), { fetch: { lfs: true } })).toMatchObject({ fetch: { lfs: true } });
    await expect(
      add('by-https', 'git@git.example.test:a.git', { replace: true, credential: key }),
    ).rejects.toMatchObject({ code: 'source_refused' });
    expect(await add('by-https', origin.url('x'), { replace: true, setup: 'true' })).toMatchObject({
      fetch: { lfs: true },
    });
    expect(await add('by-https', origin.url('x'), { replace: true, fetch: { lfs: false } })).toMatchObject({
      fetch: { lfs: false },
    });
  });

  it('is switched by itself: what is not given of `fetch` stays as it was', async () => {
    const url = origin.url('x');
    const change = (fetch: object) => add('both', url, { replace: true, fetch });
    expect(await add('both', url, { fetch: { lfs: true } })).toMatchObject({ fetch: { lfs: true, submodules: false } });
    expect(await change({ submodules: true })).toMatchObject({ fetch: { lfs: true, submodules: true } });
    expect(await change({ lfs: false })).toMatchObject({ fetch: { lfs: false, submodules: true } });
    expect(await change({})).toMatchObject({ fetch: { lfs: false, submodules: true } });
  });
});
