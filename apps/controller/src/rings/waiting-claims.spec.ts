import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { aSubmit } from '../../../../test/support/a-submit.js';
import { WaitingClaims } from './waiting-claims.js';

const worker = { worker: 'w_1', pool: 'default', labels: [], accounts: [] };
const job = { kind: 'echo', pool: 'default', labels: [], account: null, prefer: null };
/** Longer than any test. */
const long = 600_000;

it.each([
  ['a job', (claims: WaitingClaims) => void claims.wakeOne(job)],
  ['whatever there may be', (claims: WaitingClaims) => claims.wakeAll()],
])('H18 hears of %s that rang between its look and its wait', async (_, ring) => {
  const claims = new WaitingClaims();
  const { signal } = new AbortController();
  claims.look(worker, signal);
  ring(claims);
  await claims.wait(worker, long, signal);
  expect(claims.size).toBe(0);
});

it('waits for the next ring when nothing rang since its look, or for others only', async () => {
  const claims = new WaitingClaims();
  const { signal } = new AbortController();
  claims.wakeOne(job);
  claims.wakeAll();
  claims.look(worker, signal);
  claims.wakeOne({ ...job, pool: 'gpu' });
  const waiting = claims.wait(worker, long, signal);
  expect(claims.size).toBe(1);
  expect(claims.wakeOne(job)).toBe(true);
  await waiting;
});

it('D14 wakes the claims of the machine that another controller chose and of no other', async () => {
  const claims = new WaitingClaims();
  const { signal } = new AbortController();
  const other = { ...worker, worker: 'w_2' };
  const waits = [claims.wait(worker, long, signal), claims.wait(worker, long, signal)];
  const othersWait = claims.wait(other, long, signal);
  claims.wakeWorker('w_1');
  await Promise.all(waits);
  expect(claims.size).toBe(1);
  // rang between its look and its wait
  claims.look(worker, signal);
  claims.wakeWorker('w_1');
  await claims.wait(worker, long, signal);
  claims.close();
  await othersWait;
});

describe('a job that is offered', () => {
  let claims: WaitingClaims;
  beforeEach(() => {
    claims = new WaitingClaims();
  });
  // Nobody waits longer than the test.
  afterEach(() => claims.close());

  const take = async () => [{ id: '1' }, { id: '2' }];
  const waitingFor = (of: Partial<typeof worker>, takes = take) => {
    const gone = new AbortController();
    let isOver = false;
    const over = claims.wait({ ...worker, ...of }, long, gone.signal, takes).then(() => {
      isOver = true;
    });
    return { over, gone, isOver: () => Promise.resolve().then(() => isOver) };
  };

  it('D15 is taken by the claim of its warm machine, also by no other while that one does not wait', async () => {
    const cold = waitingFor({ worker: 'w_cold' });
    const submit = aSubmit();
    expect(await claims.offer(submit.tx, { ...job, prefer: 'w_warm' })).toEqual([]);
    const warm = waitingFor({ worker: 'w_warm' });
    expect(await claims.offer(submit.tx, { ...job, prefer: 'w_warm' })).toEqual(['1', '2']);
    submit.commit();
    await warm.over;
    expect([await cold.isOver(), claims.size]).toEqual([false, 1]);
  });

  it('is taken by the one that has waited longest of those that fit', async () => {
    const other = waitingFor({ pool: 'gpu' });
    const first = waitingFor({});
    const second = waitingFor({});
    const submit = aSubmit();
    await claims.offer(submit.tx, job);
    submit.commit();
    await first.over;
    expect([await second.isOver(), await other.isOver()]).toEqual([false, false]);
  });

  it.each(['commit', 'fail'] as const)(
    'keeps its claim until the %s: no ring, no caller that goes, no end of the controller',
    async (end) => {
      const waiting = waitingFor({});
      const submit = aSubmit();
      await claims.offer(submit.tx, job);
      // A second one is not offered to it, and not rung to it.
      expect(await claims.offer(aSubmit().tx, job)).toEqual([]);
      expect(claims.wakeOne(job)).toBe(false);
      claims.wakeAll();
      waiting.gone.abort();
      claims.close();
      expect(await waiting.isOver()).toBe(false);
      submit[end]();
      await waiting.over;
    },
  );

  it('leaves its claim to look by itself after the commit when that could not tell', async () => {
    const signal = new AbortController().signal;
    const waiting = claims.wait(worker, long, signal, async () => undefined);
    const submit = aSubmit();
    expect(await claims.offer(submit.tx, job)).toBe('looks');
    submit.commit();
    await waiting;
  });

  it('is left to the ring when nobody waits who may take it in there', async () => {
    const waiting = claims.wait(worker, long, new AbortController().signal);
    expect(await claims.offer(aSubmit().tx, job)).toEqual([]);
    expect(claims.wakeOne(job)).toBe(true);
    await waiting;
  });
});
