import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { agent, aRound, type Round, when } from '../../../test/support/git-round.js';
import { plainGit, writeFiles } from '../../../test/support/repositories.js';
import { tempDir } from '../../../test/support/temp-dir.js';
import { intakePack } from './intake-pack.js';
import { mergeInto } from './merge-into.js';
import { draftPin, pin, preparePin } from './pin.js';

jest.setTimeout(60_000);

let round: Round;
beforeAll(async () => {
  round = await aRound();
});

async function accepted(content: string): Promise<{ readonly commit: string; readonly path: string }> {
  const workspace = await round.workspace();
  writeFiles(workspace.dir, { 'work.txt': content });
  const pack = await workspace.pack();
  await intakePack(round.store, { pack: pack.path, base: round.base, commit: pack.commit });
  return pack;
}

const hasStrace = spawnSync('strace', ['-V']).status === 0;
const itWithStrace = hasStrace ? it : it.skip;

/** The names that this process and its children synced or renamed while the work ran, in order. */
async function diskCalls(work: () => Promise<unknown>): Promise<readonly string[]> {
  const log = join(tempDir(), 'strace.log');
  const calls = 'trace=fsync,fdatasync,rename,renameat,renameat2,link,linkat';
  const strace = spawn('strace', ['-f', '-y', '-qq', '-s', '300', '-e', calls, '-o', log, '-p', String(process.pid)]);
  await attached(strace.pid ?? 0);
  await work();
  strace.kill('SIGINT');
  await once(strace, 'exit');
  return readFileSync(log, 'utf8').split('\n');
}

async function attached(tracer: number): Promise<void> {
  for (let tries = 0; tries < 1000; tries += 1) {
    if (readFileSync('/proc/self/status', 'utf8').includes(`TracerPid:\t${tracer}`)) return;
    await new Promise((done) => setTimeout(done, 5));
  }
  throw new Error('strace did not attach');
}

describe('a pin', () => {
  it('D20 is written once under job, epoch and commit, and again is the same act', async () => {
    const { commit } = await accepted('once');
    const what = { kind: 'accepted', job: 'job_1', epoch: 3, commit } as const;
    const refs = await Promise.all([pin(round.store, what), pin(round.store, what), pin(round.store, what)]);
    expect(new Set(refs)).toEqual(new Set([`refs/longshore/accepted/job_1/3/${commit}`]));
    expect(plainGit(round.store.dir, ['rev-parse', refs[0] ?? ''])).toBe(commit);
    expect(readdirSync(join(round.store.dir, 'refs/longshore/accepted/job_1/3'))).toEqual([commit]);
  });

  it('D20 H10 never takes the place of another under the same epoch', async () => {
    const [first, second] = [await accepted('first'), await accepted('second')];
    for (const { commit } of [first, second])
      await pin(round.store, { kind: 'rescue', job: 'job_2', epoch: 1, commit });
    const found = plainGit(round.store.dir, [
      'for-each-ref',
      '--format=%(objectname)',
      'refs/longshore/rescue/job_2/1/',
    ]);
    expect(found.split('\n').sort()).toEqual([first.commit, second.commit].sort());
  });

  it('D20 may be drafted before its commit is there: no name tells of it until it is set, and dropped it leaves nothing', async () => {
    const workspace = await round.workspace();
    writeFiles(workspace.dir, { 'work.txt': 'drafted' });
    const { path, commit } = await workspace.pack();
    const what = { kind: 'accepted', job: 'job_6', epoch: 1, commit } as const;
    const [one, other] = [await draftPin(round.store, what), await draftPin(round.store, what)];
    const named = () => plainGit(round.store.dir, ['for-each-ref', 'refs/longshore/accepted/job_6/']);
    expect(named()).toBe('');
    await intakePack(round.store, { pack: path, base: round.base, commit });
    const ref = `refs/longshore/accepted/job_6/1/${commit}`;
    expect(await one.set()).toBe(ref);
    expect(named()).toBe(`${commit} commit\t${ref}`);
    await other.drop();
    expect(readdirSync(join(round.store.dir, 'refs/longshore/accepted/job_6/1'))).toEqual([commit]);
  });

  it('is refused for names that are no ids', async () => {
    for (const job of ['../heads/main', '', 'a b', '-x'.repeat(100)]) {
      await expect(pin(round.store, { kind: 'accepted', job, epoch: 1, commit: round.base })).rejects.toMatchObject({
        code: 'invalid_input',
      });
    }
  });

  itWithStrace(
    'H4 is on disk before it answers: pack, then its index, then the ref and the folders that name them',
    async () => {
      // nothing was pinned in it before
      const fresh = await aRound();
      const workspace = await fresh.workspace();
      writeFiles(workspace.dir, { 'synced.txt': 'synced' });
      const pack = await workspace.pack();
      const calls = await diskCalls(async () => {
        await intakePack(fresh.store, { pack: pack.path, base: fresh.base, commit: pack.commit });
        await pin(fresh.store, { kind: 'accepted', job: 'job_4', epoch: 1, commit: pack.commit });
      });
      const at = (pattern: RegExp): number => calls.findIndex((call) => pattern.test(call));
      const synced = 'f(data)?sync\\(\\d+<';
      const order = [
        at(new RegExp(`${synced}[^>]*quarantine[^>]*pack`)),
        at(/rename.*quarantine.*pack-[0-9a-f]+\.pack/),
        at(/rename.*quarantine.*pack-[0-9a-f]+\.idx/),
        at(new RegExp(`${synced}[^>]*objects/pack>`)),
        at(new RegExp(`${synced}[^>]*refs/longshore/accepted/job_4/1/${pack.commit}`)),
        at(new RegExp(`rename.*refs/longshore/accepted/job_4/1/${pack.commit}`)),
      ];
      expect(order).toEqual([...order].sort((a, b) => a - b));
      expect(at(new RegExp(`${synced}[^>]*/refs/longshore/accepted/job_4/1>`))).toBeGreaterThan(order.at(-1) ?? -1);
      // the name of each on the way
      for (const folder of ['/longshore/accepted/job_4', '/longshore/accepted', '/longshore', ''])
        expect(at(new RegExp(`${synced}[^>]*/refs${folder}>`))).toBeGreaterThan(-1);
      expect(order).not.toContain(-1);
      const indexSynced = at(new RegExp(`${synced}[^>]*quarantine[^>]*(idx|tmp_idx)`));
      expect(indexSynced).toBeGreaterThan(-1);
      expect(indexSynced).toBeLessThan(order[2] ?? -1);
    },
  );

  itWithStrace('H4 has its folders on disk once, and again when they were made anew', async () => {
    const { store } = await aRound();
    const where = { kind: 'accepted', job: 'job_5', epoch: 1 } as const;
    const job = /f(data)?sync\(\d+<[^>]*longshore\/accepted\/job_5>/;
    const named = async (work: () => Promise<unknown>) =>
      (await diskCalls(work)).filter((call) => job.test(call)).length;
    expect(await named(() => preparePin(store, where))).toBe(1);
    expect(await named(() => pin(store, { ...where, commit: round.base }))).toBe(0);
    rmSync(join(store.dir, 'refs/longshore'), { recursive: true });
    expect(await named(() => pin(store, { ...where, commit: round.base }))).toBe(1);
  });

  itWithStrace('H4 holds for merge commits too', async () => {
    const [ours, theirs] = [await accepted('same line'), await round.workspace()];
    writeFiles(theirs.dir, { 'other.txt': 'other' });
    const pack = await theirs.pack();
    await intakePack(round.store, { pack: pack.path, base: round.base, commit: pack.commit });
    const calls = await diskCalls(async () => {
      const branch = { theirs: pack.commit, message: 'Merge', author: agent, when };
      await mergeInto(round.store, { ours: ours.commit, branches: [branch] });
    });
    const at = (pattern: RegExp): number => calls.findIndex((call) => pattern.test(call));
    const files = [/f(data)?sync\(\d+<[^>]*quarantine[^>]*\.pack/, /f(data)?sync\(\d+<[^>]*quarantine[^>]*\.idx/].map(
      at,
    );
    const order = [
      Math.max(...files),
      // out of the quarantine: git gives them their names in it before
      at(/rename.*quarantine.*pack-[0-9a-f]+\.pack.*pack-[0-9a-f]+\.pack/),
      at(/rename.*quarantine.*pack-[0-9a-f]+\.idx.*pack-[0-9a-f]+\.idx/),
      at(/f(data)?sync\(\d+<[^>]*objects\/pack>/),
    ];
    expect(order).toEqual([...order].sort((a, b) => a - b));
    expect([...files, ...order]).not.toContain(-1);
  });
});
