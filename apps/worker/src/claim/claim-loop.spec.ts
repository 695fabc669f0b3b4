import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { jobClaim, limits } from '#contracts';
import { aWorker } from '../../../../test/support/a-worker.js';
import { StandInController } from '../../../../test/support/stand-in-controller.js';
import { waitUntil } from '../../../../test/support/wait-until.js';

const Asked = z.object({ input: jobClaim.input });

/** Those for new work, in their order. */
function claimsOf(farm: StandInController): readonly z.output<typeof jobClaim.input>[] {
  return farm
    .requests(/job_claim/)
    .map(({ body }) => Asked.parse(body).input)
    .filter(({ frozen }) => frozen.length === 0);
}

/** As many more of them have come: by the second, the worker knows what became of the first. */
async function beats(farm: StandInController, more: number): Promise<void> {
  const before = farm.requests(/job_heartbeat/).length;
  await waitUntil(() => farm.requests(/job_heartbeat/).length >= before + more);
}

describe('the claims of a worker', () => {
  it('H18 wait at the controller for one job, and are asked anew every 5 s with jitter', async () => {
    const farm = await StandInController.open();
    await aWorker(farm, { slots: 4 });
    await waitUntil(() => claimsOf(farm).length >= 3, { within: 30_000 });
    for (const { limit, wait_seconds } of claimsOf(farm)) {
      expect(limit).toBe(1);
      expect(wait_seconds).toBeGreaterThanOrEqual(4.5);
      // the controller would look once more just before its end
      expect(wait_seconds * 1_000).toBeLessThanOrEqual(limits.pollMs);
    }
    expect(new Set(claimsOf(farm).map(({ wait_seconds }) => wait_seconds)).size).toBeGreaterThan(1);
    const jobs = [farm.add('steps: [{wait: {file: go}}]\n'), farm.add('steps: [{wait: {file: go}}]\n')];
    await waitUntil(() => jobs.every(({ state }) => state === 'leased'), { within: 20_000 });
  });

  it('D11 H7 are taken back while a lease is to be regained, and repeated under the same request then', async () => {
    const farm = await StandInController.open();
    const worker = await aWorker(farm, { slots: 4 });
    const job = farm.add('steps:\n  - say: here\n  - wait: {file: go}\n');
    await worker.of(job).until('step', ({ text }) => text === 'here');
    farm.giveToAnother(job);
    await worker.of(job).until('stale');
    const repeated = (): boolean => {
      const asked = claimsOf(farm).map(({ request_id }) => request_id);
      return new Set(asked).size < asked.length;
    };
    await waitUntil(repeated, { within: 30_000 });
  });

  it('D11 ask for nothing new while it holds a lease whose beats are not answered, and go on once they are', async () => {
    const farm = await StandInController.open();
    const job = farm.add('steps:\n  - say: here\n  - wait: {file: go}\n');
    const worker = await aWorker(farm, { slots: 2 });
    await worker.of(job).until('step', ({ text }) => text === 'here');
    // one is open beside that which took the job
    await waitUntil(() => claimsOf(farm).length > 1);
    // the farm hears the beats and believes in the lease all along: there is nothing to be regained
    farm.weather = ({ path }) => (path.endsWith('job_heartbeat') ? { lateMs: 60_000 } : 'fine');
    await beats(farm, 3);
    const asked = claimsOf(farm).length;
    // whatever claim is open, or comes, is given it
    const other = farm.add('steps: [{wait: {file: go}}]\n');
    await beats(farm, 3);
    expect(other.state).toBe('queued');
    expect(claimsOf(farm)).toHaveLength(asked);
    farm.weather = () => 'fine';
    await worker.of(other).until('claimed');
    expect(claimsOf(farm).length).toBeGreaterThan(asked);
  });
});
