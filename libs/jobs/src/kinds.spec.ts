import { randomUUID } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { FarmError, limits } from '#contracts';
import {
  aQueueFarm,
  fenceOf,
  leaseTime,
  type QueueFarm,
  type TestWorker,
  withCode,
} from '../../../test/support/queue.js';
import { aTestKind, lockTestScope, type TestKind } from '../../../test/support/test-kind.js';

const farms: QueueFarm[] = [];
let farm: QueueFarm;
let kind: TestKind;
let north: TestWorker;
let south: TestWorker;
beforeEach(async () => {
  kind = aTestKind();
  farm = await aQueueFarm({ kinds: [kind] });
  farms.push(farm);
  [north, south] = [farm.worker('north'), farm.worker('south')];
});
afterAll(() => Promise.all(farms.map((each) => each.close())));

const turn = (scope = 't_1') => farm.submit({ kind: 'turn', scope });

/** All of a scope, as cancelling a Task does. */
function cancelScope(scope: string) {
  return farm.tx(async (tx) => {
    await tx.run(lockTestScope, { scope });
    await farm.queue.endQueued(tx, scope);
    await farm.queue.flagEnd(tx, scope, 'cancel', 'cancelled by a person');
  });
}

describe('a start', () => {
  it('D12 is told once per lease by the first started beat, and a late one changes nothing', async () => {
    await turn();
    const lease = await north.claimOne();
    await north.beat(lease);
    expect(kind.told).toEqual([]);
    await north.beat(lease, 'started');
    await north.beat(lease, 'started');
    await north.beat(lease, 'capturing');
    await north.beat(lease, 'started');
    expect(kind.told).toEqual(['started 1']);
    expect(await farm.job(lease.id)).toMatchObject({ phase: 'capturing' });
  });

  it('D12 is counted when a call or the completion comes before the started beat', async () => {
    await turn();
    const lease = await north.claimOne();
    await north.started(lease);
    await north.started(lease);
    await north.beat(lease, 'started');
    expect(kind.told).toEqual(['started 1']);
    await north.complete(lease, null, 'silent');

    await turn();
    const second = await north.claimOne();
    await north.complete(second, null, 'silent');
    expect(kind.told.slice(1)).toEqual([
      'prepare silent 1',
      'complete silent prepared 1 1',
      'prepare silent 1',
      'started 1',
      'complete silent prepared 1 1',
    ]);
    expect((await farm.job(second.id)).started_at).not.toBeNull();
  });
});

describe('a completion', () => {
  it('writes nothing when its kind refuses it, and may be tried again', async () => {
    const id = await turn();
    const lease = await north.claimOne();
    kind.says.trouble = { hook: 'complete', error: new FarmError('handover_refused') };
    await expect(north.complete(lease)).rejects.toMatchObject(withCode('handover_refused'));
    expect(await farm.job(id)).toMatchObject({ state: 'leased', result: null });
    kind.says.trouble = undefined;
    expect(await north.complete(lease)).toEqual({ state: 'done', kept: true });
  });

  it('D13 reads the fence before any work on disk, and again does no work for an answer that was given', async () => {
    await turn();
    const lease = await north.claimOne();
    await expect(south.complete(lease)).rejects.toMatchObject(withCode('stale_lease'));
    expect(kind.told).toEqual([]);
    kind.says.kept = false;
    expect(await north.complete(lease)).toEqual({ state: 'done', kept: false });
    const told = [...kind.told];
    expect(await north.complete(lease)).toEqual({ state: 'done', kept: false });
    await expect(north.complete(lease, { other: true })).rejects.toMatchObject(withCode('conflict'));
    expect(kind.told).toEqual(told);
  });

  it('S5.1 P2 T12 that was prepared in time but comes after the lease’s end changes nothing', async () => {
    const id = await turn();
    const lease = await north.claimOne();
    await north.beat(lease, 'started');
    const end = { ended: 'done', result: 1 } as const;
    const prepared = await farm.queue.prepareCompletion(north.claimer, fenceOf(lease), end);
    await farm.time.pass(leaseTime);
    await farm.queue.sweep();
    await south.claimOne();
    const late = farm.tx((tx) => farm.queue.complete(tx, north.claimer, fenceOf(lease), end, prepared));
    await expect(late).rejects.toMatchObject(withCode('stale_lease'));
    expect(await farm.job(id)).toMatchObject({ state: 'leased', holder: 'south', result: null });
  });
});

describe('a cancel', () => {
  it('D9 W17 ends queued and held jobs at once and flags leased ones; a completion after it is kept', async () => {
    const [leased, queued] = [await turn(), await turn()];
    const lease = await north.claimOne();
    const other = await turn('t_2');
    const held = await turn();
    await farm.tx(async (tx) => {
      await farm.queue.close(tx, held, 'dead');
      await farm.queue.submit(tx, { id: randomUUID(), kind: 'turn', scope: 't_1', held: true });
    });
    await cancelScope('t_1');
    expect(await farm.job(queued)).toMatchObject({ state: 'cancelled' });
    expect(await farm.queue.counts(farm.database)).toMatchObject({ held: 0, leased: 1, queued: 1 });
    expect(await farm.job(other)).toMatchObject({ state: 'queued' });

    expect(await north.beat(lease, 'started')).toMatchObject({
      held: true,
      end: { kind: 'cancel', reason: 'cancelled by a person' },
    });
    expect(await north.complete(lease, null, 'cancelled')).toEqual({ state: 'cancelled', kept: true });
    expect(await north.complete(lease, null, 'cancelled')).toEqual({ state: 'cancelled', kept: true });
    expect(kind.told).toEqual(['started 1', 'prepare cancelled 1', 'cancelled completed 1']);
    expect(await farm.job(leased)).toMatchObject({ state: 'cancelled' });
  });

  it.each([
    ['never begun', 'preparing'],
    ['started', 'started'],
  ] as const)('D9 W17 ends a flagged job that was %s at its lease’s end: it is never put back', async (_, phase) => {
    const id = await turn();
    const lease = await north.claimOne();
    if (phase === 'started') await north.beat(lease, phase);
    await cancelScope('t_1');
    // A pause does not take it back.
    await farm.tx((tx) => farm.queue.flagEnd(tx, 't_1', 'pause', 'later'));
    await farm.tx((tx) => farm.queue.unflagPause(tx, 't_1'));
    await expect(farm.tx((tx) => farm.queue.requeue(tx, id))).rejects.toMatchObject(withCode('not_resumable'));
    await farm.time.pass(leaseTime);
    expect(await farm.queue.sweep()).toMatchObject({ requeued: [], ended: [id] });
    expect(await farm.job(id)).toMatchObject({ state: 'cancelled', epoch: 1 });
    expect(kind.told.at(-1)).toBe('cancelled expired 1');
  });

  it('D9 ends a flagged job that its worker fails', async () => {
    const id = await turn();
    const lease = await north.claimOne();
    await cancelScope('t_1');
    expect(await north.fail(lease, 'environment')).toEqual({ state: 'cancelled' });
    expect(await farm.job(id)).toMatchObject({ state: 'cancelled' });
  });

  it('H12 D9 against a completion, a thousand times: no deadlock, one end each, all work kept', async () => {
    const rounds = 1000;
    const ends = { done: 0, cancelled: 0 };
    for (let round = 0; round < rounds; round += 10) {
      const scopes = Array.from({ length: 10 }, (_, n) => `t_${round + n}`);
      await farm.tx(async (tx) => {
        for (const scope of scopes) await farm.queue.submit(tx, { id: randomUUID(), kind: 'turn', scope });
      });
      const leases = await north.claim(10);
      const pairs = leases.map(async (lease) => {
        const scope = (await farm.job(lease.id)).scope ?? '';
        // Either is first as often as not.
        const [first, second] = lease.id < '8' ? [cancelScope, north] : [north, cancelScope];
        const run = (what: typeof first) =>
          what === north ? north.complete(lease, null, 'silent') : cancelScope(scope).then(() => undefined);
        const [a, b] = await Promise.all([run(first), run(second)]);
        return a ?? b;
      });
      for (const answer of await Promise.all(pairs)) {
        expect(answer?.kept).toBe(true);
        if (answer) ends[answer.state] += 1;
      }
    }
    expect(ends.done + ends.cancelled).toBe(rounds);
    expect(await farm.queue.counts(farm.database)).toMatchObject({ queued: 0, held: 0, leased: 0 });
  });
});

describe('a Task’s control', () => {
  it('D10 H9 ends the job with its Dispatch: nobody can claim, requeue or redrive it', async () => {
    const [queued, leased] = [await turn(), await turn()];
    const lease = await north.claimOne();
    expect(lease.id).toBe(queued);
    await farm.tx(async (tx) => {
      await tx.run(lockTestScope, { scope: 't_1' });
      await farm.queue.close(tx, queued, 'done', 'superseded');
      await farm.queue.close(tx, leased, 'cancelled', 'superseded');
    });
    expect(await north.claim()).toEqual([]);
    await expect(north.complete(lease)).rejects.toMatchObject(withCode('stale_lease'));
    expect(await north.beat(lease)).toMatchObject({ held: false });
    for (const id of [queued, leased]) {
      await expect(farm.tx((tx) => farm.queue.requeue(tx, id))).rejects.toMatchObject(withCode('not_resumable'));
      await expect(farm.tx((tx) => farm.queue.redrive(tx, id))).rejects.toMatchObject(withCode('not_resumable'));
    }
  });

  it('D10 leaves nothing when the transaction that closes does not commit', async () => {
    const id = await turn();
    const undone = farm.tx(async (tx) => {
      await farm.queue.close(tx, id, 'done');
      throw new Error('the rest of it failed');
    });
    await expect(undone).rejects.toThrow('the rest');
    expect(await north.claimOne()).toMatchObject({ id });
  });

  it('H9 asks the kind before a requeue and a redrive', async () => {
    const id = await turn();
    kind.says.trouble = { hook: 'requeue', error: new FarmError('not_resumable', 'It is not current.') };
    await expect(farm.tx((tx) => farm.queue.requeue(tx, id))).rejects.toMatchObject(withCode('not_resumable'));
    await north.fail(await north.claimOne(), 'capture_failed', false);
    expect(await farm.job(id)).toMatchObject({ state: 'dead' });
    kind.says.trouble = { hook: 'redrive', error: new FarmError('not_resumable', 'It is not current.') };
    await expect(farm.tx((tx) => farm.queue.redrive(tx, id))).rejects.toMatchObject(withCode('not_resumable'));
    kind.says.trouble = undefined;
    kind.says.redrive = 'seen_to';
    expect(await farm.tx((tx) => farm.queue.redrive(tx, id))).toBe('dead');
    kind.says.redrive = 'queue';
    expect(await farm.tx((tx) => farm.queue.redrive(tx, id))).toBe('queued');
    expect(await north.claimOne()).toMatchObject({ id, epoch: 2 });
  });

  it('A12.8 H9 lets a kind see to a lane whose last job is done, but never opens that job again', async () => {
    const id = await turn();
    await north.complete(await north.claimOne(), null, 'silent');
    kind.says.redrive = 'seen_to';
    expect(await farm.tx((tx) => farm.queue.redrive(tx, id))).toBe('done');
    kind.says.redrive = 'queue';
    await expect(farm.tx((tx) => farm.queue.redrive(tx, id))).rejects.toMatchObject(withCode('not_resumable'));
    expect(await farm.job(id)).toMatchObject({ state: 'done' });
  });

  it('holds queued jobs of a scope and gives them back, and a paused one waits after its lease', async () => {
    const [first, second] = [await turn(), await turn()];
    const lease = await north.claimOne();
    await north.beat(lease, 'started');
    expect(lease.id).toBe(first);
    await farm.tx((tx) => farm.queue.hold(tx, 't_1'));
    await farm.tx((tx) => farm.queue.flagEnd(tx, 't_1', 'pause', 'lunch'));
    expect(await north.claim()).toEqual([]);
    expect(await north.beat(lease, 'started')).toMatchObject({ end: { kind: 'pause', reason: 'lunch' } });
    kind.says.lost = { next: 'hold' };
    await farm.time.pass(leaseTime);
    await farm.queue.sweep();
    expect(await farm.job(first)).toMatchObject({ state: 'held', end_kind: null });
    farm.rings.length = 0;
    expect([...(await farm.tx((tx) => farm.queue.release(tx, 't_1')))].sort()).toEqual([first, second].sort());
    expect(farm.rings).toHaveLength(2);
    expect(await north.claim(4)).toHaveLength(2);
  });

  it('refuses to cancel one job of a Task', async () => {
    const id = await turn();
    await expect(farm.tx((tx) => farm.queue.cancel(tx, id))).rejects.toMatchObject(withCode('conflict'));
    await expect(farm.tx((tx) => farm.queue.cancel(tx, randomUUID()))).rejects.toMatchObject(withCode('not_found'));
  });
});

describe('a lost lease', () => {
  it('D11 gives back what it counted, when the frozen session goes on', async () => {
    const id = await turn();
    const lease = await north.claimOne();
    await north.beat(lease, 'started');
    await farm.time.pass(leaseTime);
    const frozen = [{ job_id: id, lease_id: lease.lease_id }];
    expect(await north.claimOne({ frozen })).toMatchObject({ epoch: 2, continues: true });
    expect(kind.told).toEqual(['started 1', 'lost expired 1', 'continued 2']);
  });

  it('D11 H7 gives nothing back where nothing was counted, as its first beat never came', async () => {
    const id = await turn();
    const lease = await north.claimOne();
    await farm.time.pass(leaseTime);
    const frozen = [{ job_id: id, lease_id: lease.lease_id }];
    expect(await north.claimOne({ frozen })).toMatchObject({ epoch: 2, continues: true });
    expect(kind.told).toEqual([]);
  });

  it('H7 is not the kind’s affair when its first beat never came', async () => {
    const id = await turn();
    await north.claimOne();
    await farm.time.pass(leaseTime);
    await farm.queue.sweep();
    expect(await farm.job(id)).toMatchObject({ state: 'queued' });
    expect(kind.told).toEqual([]);
  });

  it('H13 of one job does not hold up the others when its kind throws', async () => {
    const ids = [await turn('t_1'), await farm.submit(), await turn('t_2')];
    for (const lease of await north.claim(3)) await north.beat(lease);
    await farm.time.pass(leaseTime);
    kind.says.trouble = { hook: 'lost', error: new Error('a fault of the kind') };
    const swept = await farm.queue.sweep();
    expect(swept.requeued).toEqual([ids[1]]);
    expect(swept.failed.map((each) => each.job).sort()).toEqual([ids[0], ids[2]].sort());
    expect(farm.troubles).toHaveLength(2);
    kind.says.trouble = undefined;
    expect((await farm.queue.sweep()).requeued).toHaveLength(2);
  });
});

describe('a failed start', () => {
  it('repeats five times with 1, 2, 4, 8 s between, then asks the kind', async () => {
    const id = await turn();
    for (const seconds of [1, 2, 4, 8]) {
      expect(await north.fail(await north.claimOne(), 'provider_start')).toEqual({ state: 'queued' });
      await farm.time.pass(seconds * 1000 - 1);
      expect(await north.claim()).toEqual([]);
      await farm.time.pass(1);
    }
    expect(kind.told).toEqual([]);
    expect(await north.fail(await north.claimOne(), 'provider_start')).toEqual({ state: 'dead' });
    expect(kind.told).toEqual(['fail provider_start exhausted 5']);
    expect(await farm.job(id)).toMatchObject({ start_attempts: limits.startAttempts, tries: 0 });
  });

  it('is the kind’s at once when it may not be repeated', async () => {
    await turn();
    await north.fail(await north.claimOne(), 'provider_start', false);
    expect(kind.told).toEqual(['fail provider_start 1']);
  });

  it('H11 says nothing to the kind when the machine is at fault, and excludes that machine only', async () => {
    const id = await turn();
    expect(await north.fail(await north.claimOne(), 'environment')).toEqual({ state: 'queued' });
    expect(await north.claim()).toEqual([]);
    expect(await south.claimOne()).toMatchObject({ id, epoch: 2 });
    expect(await farm.job(id)).toMatchObject({ start_attempts: 0, tries: 0, excluded: ['north'] });
    expect(kind.told).toEqual([]);
  });
});
