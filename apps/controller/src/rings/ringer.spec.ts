import { describe, expect, it } from '@jest/globals';
import { workerOfBell } from '#contracts';
import type { LiveWorker } from '#gate';
import type { Ring } from '#jobs';
import type { Bell } from '#store';
import { aSubmit } from '../../../../test/support/a-submit.js';
import { Ringer } from './ringer.js';
import { WaitingClaims } from './waiting-claims.js';

const aLiveWorker = (id: string, changes: Partial<LiveWorker> = {}): LiveWorker => ({
  kind: 'worker',
  id,
  boot: 'b',
  pool: 'default',
  labels: [],
  accounts: [],
  name: 'north',
  unusable: [],
  slots: 2,
  busy: 0,
  offers: [],
  accepting: true,
  ...changes,
});

const aJob = (id: string, changes: Partial<Ring> = {}): Ring => ({
  id,
  kind: 'echo',
  pool: 'default',
  labels: [],
  account: null,
  prefer: null,
  after_ms: 0,
  ...changes,
});

async function aFarm(live: readonly LiveWorker[]) {
  let now = 0;
  const rung: string[] = [];
  const bell: Bell = {
    ring: (subject) => rung.push(subject),
    listen: () => () => {},
    connected: true,
    close: async () => {},
  };
  const claims = new WaitingClaims();
  const ringer = new Ringer({ bell, claims, liveWorkers: async () => live, now: () => now });
  await ringer.sweep();
  return {
    ringer,
    claims,
    /** Workers that were rung since the last look. */
    workers: () => rung.splice(0).flatMap((subject) => workerOfBell(subject) ?? []),
    subjects: () => rung.splice(0),
    pass: (ms: number) => {
      now += ms;
    },
  };
}

describe('a ring', () => {
  it('D14 goes to one worker that has room and fits, and to nobody else', async () => {
    const farm = await aFarm([
      aLiveWorker('w_full', { busy: 2, labels: ['gpu'] }),
      aLiveWorker('w_else', { pool: 'other', labels: ['gpu'] }),
      aLiveWorker('w_bare'),
      aLiveWorker('w_away', { accepting: false, labels: ['gpu'] }),
      aLiveWorker('w_fits', { labels: ['gpu', 'more'] }),
    ]);
    farm.ringer.ring(aJob('1', { labels: ['gpu'] }));
    expect(farm.workers()).toEqual(['w_fits']);
  });

  it('D14 goes past a machine without the account that the job runs on', async () => {
    const farm = await aFarm([aLiveWorker('w_bare'), aLiveWorker('w_work', { accounts: ['work'], slots: 1 })]);
    farm.ringer.ring(aJob('1', { account: 'work' }));
    expect(farm.workers()).toEqual(['w_work']);
  });

  it('D14 spreads over those that fit, and stops where no room is left', async () => {
    const farm = await aFarm([aLiveWorker('w_a'), aLiveWorker('w_b')]);
    for (const id of ['1', '2', '3', '4', '5']) farm.ringer.ring(aJob(id));
    expect(farm.workers().sort()).toEqual(['w_a', 'w_a', 'w_b', 'w_b']);
  });

  it('D14 is repeated to all that fit after a second, unless the job was taken', async () => {
    const farm = await aFarm([aLiveWorker('w_a'), aLiveWorker('w_b'), aLiveWorker('w_c', { pool: 'other' })]);
    farm.ringer.ring(aJob('1'));
    farm.ringer.ring(aJob('2', { pool: 'other' }));
    farm.ringer.settled('2');
    farm.workers();
    farm.pass(999);
    await farm.ringer.sweep();
    expect(farm.workers()).toEqual([]);
    farm.pass(1);
    await farm.ringer.sweep();
    expect(farm.workers().sort()).toEqual(['w_a', 'w_b']);
    farm.pass(5_000);
    await farm.ringer.sweep();
    expect(farm.workers()).toEqual([]);
  });

  it('D14 goes to claims that wait on other controllers where nobody known has room, else after a second', async () => {
    const farm = await aFarm([aLiveWorker('w_a', { slots: 1 })]);
    farm.ringer.ring(aJob('1'));
    expect(farm.subjects()).toEqual(['bell.worker.w_a']);
    farm.ringer.ring(aJob('2'));
    expect(farm.subjects()).toEqual(['bell.controllers']);
    farm.ringer.settled('2');
    farm.pass(1_000);
    await farm.ringer.sweep();
    expect(farm.subjects()).toEqual(['bell.worker.w_a', 'bell.controllers']);
  });

  it('D15 goes to the warm worker first', async () => {
    const farm = await aFarm([aLiveWorker('w_a'), aLiveWorker('w_warm', { busy: 1 })]);
    farm.ringer.ring(aJob('1', { prefer: 'w_warm' }));
    expect(farm.workers()).toEqual(['w_warm']);
  });

  it('comes when a job that waits for its time may be claimed', async () => {
    const farm = await aFarm([aLiveWorker('w_a')]);
    farm.ringer.ring(aJob('1', { after_ms: 3_000 }));
    farm.pass(2_999);
    await farm.ringer.sweep();
    expect(farm.workers()).toEqual([]);
    farm.pass(1);
    await farm.ringer.sweep();
    expect(farm.workers()).toEqual(['w_a']);
  });

  it('wakes a claim that waits here instead of ringing anybody', async () => {
    const farm = await aFarm([aLiveWorker('w_a')]);
    const waiting = farm.claims.wait({ ...aLiveWorker('w_b'), worker: 'w_b' }, 60_000, new AbortController().signal);
    farm.ringer.ring(aJob('1'));
    await waiting;
    expect([farm.workers(), farm.claims.size]).toEqual([[], 0]);
  });

  it('is not needed for what a claim took in the transaction that made it, or looks for by itself', async () => {
    const farm = await aFarm([aLiveWorker('w_a')]);
    const { signal } = new AbortController();
    const claimer = { ...aLiveWorker('w_b'), worker: 'w_b' };
    const submit = aSubmit();
    const taken = farm.claims.wait(claimer, 60_000, signal, async () => [{ id: '1' }, { id: '7' }]);
    expect(await farm.ringer.offer(submit.tx, aJob('1'))).toEqual(['1', '7']);
    const looks = farm.claims.wait(claimer, 60_000, signal, async () => undefined);
    expect(await farm.ringer.offer(submit.tx, aJob('2'))).toEqual(['2']);
    expect(await farm.ringer.offer(submit.tx, aJob('3'))).toEqual([]);
    submit.commit();
    await Promise.all([taken, looks]);
    // What nobody is seen to hold by then is rung to all (D14).
    farm.pass(1_000);
    await farm.ringer.sweep();
    expect(farm.workers()).toEqual(['w_a']);
    farm.pass(1_000);
    await farm.ringer.sweep();
    expect(farm.workers()).toEqual([]);
  });
});
