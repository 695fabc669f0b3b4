import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { limits, repoAdd } from '#contracts';
import { captureWorkspace, cloneWorkspace, gitDirFrom, keepBase, packFor } from '#git';
import { anHttpsOrigin, type HttpsOrigin } from '../../../../test/support/git-origin.js';
import { agent, when } from '../../../../test/support/git-round.js';
import { aRepository, filesAt, plainGit, read, writeFiles } from '../../../../test/support/repositories.js';
import { aTeamFarm, patience, payloadOf, person, type TeamFarm } from '../../../../test/support/team-farm.js';
import { tempDir } from '../../../../test/support/temp-dir.js';

jest.setTimeout(60_000);

const token = 'canary-token-of-the-origin';
const registrar = { principal: person, mayNameFolders: false };

let origin: HttpsOrigin;
/** Another host, as far as credentials go: another port. */
let stranger: HttpsOrigin;
let farm: TeamFarm;

beforeAll(async () => {
  [origin, stranger] = [await anHttpsOrigin(), await anHttpsOrigin()];
  const caFile = join(tempDir(), 'both.pem');
  writeFileSync(caFile, `${readFileSync(origin.caFile)}${readFileSync(stranger.caFile)}`);
  farm = await aTeamFarm({ sources: { privateHosts: ['127.0.0.1'], caFile, resolve: async () => ['127.0.0.1'] } });
  await farm.workflow();
});
afterAll(() => farm.close());

async function add(name: string, more: object = {}) {
  const input = repoAdd.input.parse({ name, url: origin.url(name), ...more });
  const read = await farm.teams.repositories.prepareAdd(registrar, input);
  return farm.tx((tx) => farm.teams.repositories.add(tx, registrar, input, read));
}

const withSubmodules = { fetch: { submodules: true } };
const prepare = () => farm.teams.sweeps.prepareTasks(patience);
const mirrors = () => readdirSync(join(farm.data, 'mirrors')).filter((name) => name.endsWith('.git')).length;
const headOf = (dir: string): string => plainGit(dir, ['rev-parse', 'HEAD']);

function link(dir: string, path: string, url: string, commit: string): string {
  plainGit(dir, ['config', '-f', '.gitmodules', `submodule.${path}.path`, path]);
  plainGit(dir, ['config', '-f', '.gitmodules', `submodule.${path}.url`, url]);
  plainGit(dir, ['add', '.gitmodules']);
  plainGit(dir, ['update-index', '--add', '--cacheinfo', `160000,${commit},${path}`]);
  plainGit(dir, ['commit', '-q', '-m', `Link ${path}`]);
  return headOf(dir);
}

/** A repository with one submodule; why its Task does not begin. */
async function refusal(name: string, url: string, commit: string): Promise<string> {
  const top = aRepository();
  link(top, 'libs/inner', url, commit);
  origin.publish(name, top);
  await add(name, withSubmodules);
  const task = await farm.start({ repository: { name } });
  await prepare();
  const view = await farm.view(task);
  expect(view).toMatchObject({ status: 'paused', pause_reason: 'source_unavailable' });
  return view.attention[0]?.summary ?? '';
}

describe('a repository with its submodules', () => {
  it('H19, H30 goes the whole way: two levels by relative URLs, one of a stranger, a change inside, the Result', async () => {
    const inner = aRepository({ 'inner.txt': 'inner\n' });
    const outer = aRepository({ 'outer.txt': 'outer\n' });
    const foreign = aRepository({ 'foreign.txt': 'foreign\n' });
    const top = aRepository({ 'a.txt': 'a\n' });
    const outerAt = link(outer, 'deep/inner', '../inner.git', headOf(inner));
    link(top, 'libs/outer', '../outer.git', outerAt);
    const base = link(top, 'libs/foreign', stranger.url('foreign'), headOf(foreign));
    for (const [name, dir] of Object.entries({ top, outer, inner })) origin.publish(name, dir);
    stranger.publish('foreign', foreign);
    origin.tokens.set('x-access-token', token);
    try {
      expect(await add('top', { credential: { kind: 'token', token }, ...withSubmodules })).toMatchObject(
        withSubmodules,
      );
      const { task, worker } = await farm.alone({ repository: { name: 'top' } });
      expect(await farm.view(task)).toMatchObject({
        status: 'running',
        activities: [{ kind: 'task_prepared', summary: expect.stringContaining('checked out') }, {}],
      });
      expect(mirrors()).toBe(4);
      // the stranger was shown nothing, the repository's own host what it asks for
      expect(new Set(stranger.asked.map(({ user }) => user))).toEqual(new Set([undefined]));
      expect(origin.asked.some(({ path, user }) => path.includes('inner') && user === 'x-access-token')).toBe(true);

      const north = worker('north');
      const lease = await north.begin();
      const { repository } = await farm.teams.roads.settings(north.shown(lease));
      expect(repository?.submodules).toMatch(/^[0-9a-f]{40}$/);
      const folder = tempDir('workspace');
      const at = (name: string): string => join(folder, name);
      const [dir, gitDir, modules] = [at('tree'), at('own.git'), at('modules')];
      const bundle = async () => (await farm.teams.roads.bundle(north.shown(lease), [])).path;
      await keepBase({ bundle, base, gitDir: at('base.git'), layer: at('layer'), modules });
      await gitDirFrom(at('base.git'), gitDir);
      await cloneWorkspace({ bundle, base, dir, gitDir, name: 'lead', author: agent, modules });
      for (const path of ['', 'libs/foreign', 'libs/outer', 'libs/outer/deep/inner'])
        expect(plainGit(join(dir, path), ['status', '--porcelain'])).toBe('');
      expect(read(join(dir, 'libs/outer/deep/inner/inner.txt'))).toBe('inner\n');

      writeFiles(dir, { 'libs/outer/outer.txt': 'mended\n' });
      const asked = {
        dir,
        gitDir,
        base,
        taskDirectory: payloadOf(lease).task_directory,
        message: 'Work',
        author: agent,
      };
      const captured = await captureWorkspace({ ...asked, when });
      if (captured.kind !== 'captured') throw new Error('nothing was captured');
      const { commit, known } = captured;
      const pack = await packFor({ gitDir, commit, base, known, out: at('work.pack') });
      const callId = randomUUID();
      await north.checkpoint(lease, { outcome: 'green', summary: 'Done.' }, callId);
      await north.upload(lease, { commit, pack: pack.path });
      await north.complete(lease, 'handover', { handover: { call_id: callId }, commit });
      const { result } = await farm.view(task);
      expect(result?.notes).toEqual([expect.stringContaining('libs/outer')]);
      const files = filesAt(join(farm.data, 'tasks', task, 'store.git'), result?.commit ?? '');
      expect(files['libs/foreign']).toBe(`160000 commit ${headOf(foreign)}`);
      expect(files['libs/outer/outer.txt']).toMatch(/^100644 blob/);
      // whoever takes the branch gets it and not the submodules
      const out = await farm.teams.roads.result(task);
      expect(readFileSync(out.path, 'latin1')).not.toContain('refs/longshore/submodules');
    } finally {
      origin.tokens.clear();
    }
  });

  it('leaves them empty without the setting, and after it was taken back', async () => {
    const inner = aRepository();
    const top = aRepository();
    link(top, 'libs/inner', '../plain-inner.git', headOf(inner));
    origin.publish('plain-inner', inner);
    origin.publish('plain', top);
    expect(await add('plain')).toMatchObject({ fetch: { submodules: false } });
    for (const setting of [undefined, true, false]) {
      if (setting !== undefined) await add('plain', { fetch: { submodules: setting }, replace: true });
      const { worker } = await farm.alone({ repository: { name: 'plain' } });
      const north = worker('north');
      const { repository } = await farm.teams.roads.settings(north.shown(await north.claim()));
      expect(repository?.submodules !== undefined).toBe(setting === true);
    }
  });

  it('H30 judges each URL: a private address, a folder, http and ssh to elsewhere are refused by name', async () => {
    const commit = headOf(aRepository());
    const because = [
      ['private', 'https://10.0.0.7/inner.git', /libs\/inner.*private address/],
      ['folder', '/etc', /libs\/inner.*a folder/],
      ['plain-http', 'http://git.example.test/inner.git', /libs\/inner.*http/],
      ['by-ssh', 'git@git.example.test:inner.git', /libs\/inner.*no key/],
      ['above', '../../../inner.git', /libs\/inner.*above the host/],
    ] as const;
    for (const [name, url, why] of because) {
      const said = await refusal(name, url, commit);
      expect(said).toMatch(why);
      expect(said).toContain('--no-submodules');
    }
  });

  it('pauses the Task where a commit is not at its origin, and Resume goes on when it is, or without submodules', async () => {
    const inner = aRepository();
    const gone = '1'.repeat(40);
    origin.publish('there', inner);
    expect(await refusal('lost', origin.url('there'), gone)).toMatch(/libs\/inner.*no branch or tag.*--no-submodules/);
    expect(await refusal('astray', '../nowhere.git', gone)).toMatch(/libs\/inner.*no repository at this address/);
    const [row] = await farm.sql<{ id: string }>(
      `select id from task where status = 'paused' and source->>'name' = 'lost'`,
    );
    await add('lost', { fetch: { submodules: false }, replace: true });
    await farm.control(row?.id ?? '', 'resume');
    await prepare();
    expect(await farm.view(row?.id ?? '')).toMatchObject({ status: 'running' });
  });

  it('follows them no deeper than the limit', async () => {
    const leaf = aRepository();
    origin.publish('deep-0', leaf);
    let [commit, url] = [headOf(leaf), '../deep-0.git'];
    for (let level = 1; level <= limits.submoduleLevels; level += 1) {
      const next = aRepository();
      commit = link(next, 'libs/inner', url, commit);
      url = `../deep-${level}.git`;
      origin.publish(`deep-${level}`, next);
    }
    expect(await refusal('deepest', url, commit)).toMatch(/deeper than 4 levels/);
  });
});
