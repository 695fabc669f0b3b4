import { expect, it } from '@jest/globals';
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
