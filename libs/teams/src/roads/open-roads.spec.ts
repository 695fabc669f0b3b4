import { randomBytes, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DispatchRequest, limits } from '#contracts';
import { bundleCheckout, fetchResult } from '#git';
import { aRepository, plainGit } from '../../../../test/support/repositories.js';
import { aTeamFarm, leaseTime, payloadOf, person, type TeamFarm } from '../../../../test/support/team-farm.js';
import { tempDir } from '../../../../test/support/temp-dir.js';

let farm: TeamFarm;
beforeAll(async () => {
  farm = await aTeamFarm();
  await farm.workflow();
});
afterAll(() => farm.close());

const stale = { code: 'stale_lease' };

describe('the roads', () => {
  it('H29 H24 let a lease read its own request and base, and nobody else with it', async () => {
    const [mine, theirs] = [await farm.alone({ prompt: 'Mine' }), await farm.alone({ prompt: 'Theirs' })];
    const [north, south] = [mine.worker('north'), theirs.worker('south')];
    const [lease, other] = [await north.begin(), await south.begin()];
    const { roads } = farm.teams;
    expect(DispatchRequest.parse(await roads.request(north.shown(lease))).input).toContain('Mine');
    const bundle = readFileSync((await roads.bundle(north.shown(lease), [])).path, 'latin1');
    expect(bundle).toContain(payloadOf(lease).base);

    // Another's token, another's job, a job of one under the lease of the other, a copy of the machine.
    const shown = north.shown(lease);
    const copies = [
      { ...shown, worker: 'south' },
      { ...shown, boot: randomUUID() },
      { ...shown, job: other.id },
      { ...shown, epoch: 2 },
      { ...shown, lease_id: other.lease_id },
      { ...shown, job: randomUUID() },
    ];
    for (const copy of copies) {
      await expect(roads.request(copy)).rejects.toMatchObject(stale);
      await expect(roads.bundle(copy, [])).rejects.toMatchObject(stale);
    }
    await farm.time.pass(leaseTime);
    await expect(roads.request(shown)).rejects.toMatchObject(stale);
    await expect(roads.bundle(shown, [])).rejects.toMatchObject(stale);
  });

  it('H10 D20 keep a pack that comes after its lease, list it as a rescue, and merge it never', async () => {
    const { task, worker } = await farm.alone();
    const [north, south] = [worker('north'), worker('south')];
    const lost = await north.begin();
    const work = await north.work(lost, { 'late.txt': 'late\n' });
    await farm.time.pass(leaseTime);
    await farm.queue.sweep();
    const lease = await south.begin();
    // The machine was started anew meanwhile: the lease was still its own.
    expect(await north.rebooted().upload(lost, work)).toBe('rescue');
    expect(await north.upload(lost, work)).toBe('rescue');
    const { rescues } = await farm.view(task);
    expect(rescues).toMatchObject([
      { commit: work.commit, member_id: 'lead', ref: expect.stringMatching(/^rescue\.[0-9a-f]{16}$/) },
    ]);
    const store = join(farm.data, 'tasks', task, 'store.git');
    expect(plainGit(store, ['--git-dir=.', 'show', `refs/longshore/rescue/${lost.id}/1/${work.commit}:late.txt`])).toBe(
      'late',
    );

    await expect(south.complete(lease, 'crashed', { commit: work.commit })).rejects.toMatchObject({
      code: 'commit_refused',
    });
    await south.handOver(lease, { summary: 'Done', outcome: 'green' }, { 'mine.txt': 'mine\n' });
    const { result, rescues: after } = await farm.view(task);
    expect(result?.files_changed).toMatchObject([{ path: 'mine.txt' }]);
    expect(after).toHaveLength(1);
  });

  it('D20 H10 take nothing under an epoch from who did not hold it', async () => {
    const { worker } = await farm.alone();
    const [north, south] = [worker('north'), worker('south')];
    const lost = await north.begin();
    const work = await north.work(lost, { 'late.txt': 'late\n' });
    await farm.time.pass(leaseTime);
    await farm.queue.sweep();
    const lease = await south.begin();
    await expect(south.upload({ ...lost }, work)).rejects.toMatchObject(stale);
    await expect(north.upload({ ...lost, epoch: 2 }, work)).rejects.toMatchObject(stale);
    await expect(north.upload({ ...lost, lease_id: lease.lease_id }, work)).rejects.toMatchObject(stale);
    await expect(north.upload({ ...lost, id: randomUUID() }, work)).rejects.toMatchObject(stale);
  });

  it('H10 list a pack that arrived in time when its machine died before it reported', async () => {
    const { task, worker } = await farm.alone();
    const north = worker('north');
    const lost = await north.begin();
    const work = await north.work(lost, { 'half.txt': 'half\n' });
    expect(await north.upload(lost, work)).toBe('accepted');
    expect((await farm.view(task)).rescues).toEqual([]);
    await farm.time.pass(leaseTime);
    await farm.queue.sweep();
    expect((await farm.view(task)).rescues).toMatchObject([
      { commit: work.commit, why: 'its machine was lost before it reported' },
    ]);
  });

  it('H5 refuse a pack whose commit does not stand on the pinned base, by name, and list nothing', async () => {
    const [mine, other] = [await farm.alone(), await farm.alone()];
    const [north, south] = [mine.worker('north'), other.worker('south')];
    const first = await south.begin();
    await south.handOver(first, { summary: 'Again', outcome: 'retry' }, { 'base.txt': 'x\n' });
    const [lease, theirs] = [await north.begin(), await south.begin()];
    const foreign = await south.work(theirs, { 'theirs.txt': 'x\n' });
    await expect(north.upload(lease, foreign)).rejects.toMatchObject({ code: 'commit_refused' });
    const truncated = await north.work(lease, { 'own.txt': 'x\n' });
    const bytes = readFileSync(truncated.pack).subarray(0, -30);
    await expect(
      farm.teams.roads.takePack(north.shown(lease), truncated.commit, Readable.from([bytes])),
    ).rejects.toMatchObject({ code: 'commit_refused' });
    expect(await farm.sql(`select 1 from rescue where job = '${lease.id}'`)).toEqual([]);
  });

  it('H31 refuse a pack when the Task has its quota full, and when the disk is near its floor', async () => {
    for (const [gitLimits, code] of [
      [{ storeBytes: 2_000 }, 'commit_refused'],
      [{ diskFloorBytes: Number.MAX_SAFE_INTEGER }, 'disk_full'],
    ] as const) {
      const small = await aTeamFarm({ gitLimits });
      await small.workflow();
      const { worker } = await small.alone();
      const north = worker('north');
      const lease = await north.begin();
      const work = await north.work(lease, { 'a.bin': randomBytes(4_000) });
      await expect(north.upload(lease, work)).rejects.toMatchObject({ code });
      expect(await small.sql('select 1 from rescue')).toEqual([]);
      await expect(north.beat(lease)).resolves.toMatchObject({ held: true });
      await small.close();
    }
  });

  it('write each segment of output once, under the lease that is held', async () => {
    const { worker } = await farm.alone();
    const north = worker('north');
    const lease = await north.begin();
    const put = (segment: number, text: string, shown = north.shown(lease)) =>
      farm.teams.roads.takeOutput(shown, segment, Readable.from([Buffer.from(text)]));
    await put(0, 'first');
    await put(0, 'first');
    await expect(put(0, 'other words')).rejects.toMatchObject({ code: 'conflict' });
    await expect(put(0, 'FIRST')).rejects.toMatchObject({ code: 'conflict' });
    await expect(put(limits.outputSegments, 'x')).rejects.toMatchObject({ code: 'too_large' });
    await expect(put(1, 'x'.repeat(limits.outputSegmentBytes + 1))).rejects.toMatchObject({ code: 'too_large' });
    await farm.time.pass(leaseTime);
    await expect(put(1, 'late')).rejects.toMatchObject(stale);
    const [name] = readdirSync(join(farm.data, 'objects/output', lease.id, '1'));
    expect(readFileSync(join(farm.data, 'objects/output', lease.id, '1', name ?? ''), 'utf8')).toBe('first');
  });

  it('H17 take what fits the budget of a job and of the day of its worker, and say which of them is spent', async () => {
    const tight = await aTeamFarm({ outputLimits: { bytes: 10, bytesPerWorker: 15 } });
    await tight.workflow();
    const [north, south] = [(await tight.alone()).worker('north'), (await tight.alone()).worker('south')];
    const first = await north.begin();
    const third = await south.begin();
    const put = (lease: typeof first, segment: number, text: string) =>
      tight.teams.roads.takeOutput(
        lease === third ? south.shown(lease) : north.shown(lease),
        segment,
        Readable.from([Buffer.from(text)]),
      );
    await put(first, 0, '12345');
    await put(first, 1, '67890');
    await expect(put(first, 2, 'x')).rejects.toMatchObject({
      code: 'too_large',
      detail: expect.stringMatching(/^A job/),
    });
    await north.handOver(first, { summary: 'Again', outcome: 'retry' });
    const second = await north.begin();
    await put(second, 0, '12345');
    await expect(put(second, 1, 'x')).rejects.toMatchObject({
      code: 'too_large',
      detail: expect.stringMatching(/^The jobs that a worker/),
    });
    await put(third, 0, '12345');
    const stored = readdirSync(join(tight.data, 'objects/output', first.id, '1'));
    expect(stored).toHaveLength(2);
    await tight.close();
  });

  it('write no output that was on the road when its lease ended', async () => {
    const { worker } = await farm.alone();
    const north = worker('north');
    const lease = await north.begin();
    const slow = async function* () {
      yield Buffer.from('half');
      await farm.time.pass(leaseTime);
      yield Buffer.from(' late');
    };
    await expect(farm.teams.roads.takeOutput(north.shown(lease), 0, Readable.from(slow()))).rejects.toMatchObject(
      stale,
    );
    expect(readdirSync(join(farm.data, 'objects/output', lease.id, '1'))).toEqual([]);
  });

  it('give the branch of a Task to the checkout that it started from', async () => {
    const dir = aRepository({ 'a.txt': 'a\n' });
    const made = await bundleCheckout({ dir, out: join(tempDir('bundle'), 'source.bundle') });
    await farm.teams.roads.takeSource(person, made.sha256, Readable.from([readFileSync(made.bundle)]));
    const source = {
      kind: 'bundle' as const,
      sha256: made.sha256,
      commit: made.base,
      head: made.head,
      dirty: made.dirty,
    };
    const { task, worker } = await farm.alone({ source });
    const north = worker('north');
    await north.handOver(await north.begin(), { summary: 'Done', outcome: 'green' }, { 'b.txt': 'b\n' });
    const result = await farm.teams.roads.result(task);
    expect(result.branch).toBe(`longshore/${task}`);
    await fetchResult({ dir, bundle: result.path, commit: result.commit, branch: result.branch });
    expect(plainGit(dir, ['show', `${result.branch}:b.txt`])).toBe('b');
    expect(plainGit(dir, ['rev-parse', `${result.branch}^`])).toBe(made.base);
  });
});
