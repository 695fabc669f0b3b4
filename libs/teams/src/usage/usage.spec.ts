import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aTeamFarm, type TeamFarm } from '../../../../test/support/team-farm.js';

let farm: TeamFarm;
beforeAll(async () => {
  farm = await aTeamFarm();
  await farm.workflow();
});
afterAll(() => farm.close());

const usage = (changes: Readonly<Record<string, number | string | readonly string[]>> = {}) => ({
  usage: { requests: 2, input_tokens: 100, output_tokens: 10, cost_usd: 0.5, ...changes },
});

describe('what a Task has used', () => {
  it('is known while it runs, from the sums that beats say, and a sum that comes twice or late counts once', async () => {
    const { task, worker } = await farm.alone();
    const machine = worker('north');
    const lease = await machine.begin();
    expect((await farm.view(task)).usage).toBeNull();

    await machine.beat(lease, 'started', usage({ account: 'work', billing: 'metered', models: ['m-1'] }));
    await machine.beat(lease, 'started', usage({ requests: 5, input_tokens: 400, cost_usd: 2 }));
    await machine.beat(lease, 'started', usage());
    expect((await farm.view(task)).usage).toMatchObject({
      requests: 5,
      input_tokens: 400,
      output_tokens: 10,
      cost_usd: 2,
      billed_usd: 2,
      steps: [{ member_id: 'lead', account: 'work', billing: 'metered', models: ['m-1'], requests: 5 }],
    });
  });

  it('adds up all Dispatches, those of lost machines too, and bills nothing that a plan covers', async () => {
    const { task, worker } = await farm.alone();
    const lost = worker('north');
    const first = await lost.begin();
    await lost.beat(first, 'started', usage({ billing: 'plan', account: 'work' }));
    await farm.time.pass(60_000);
    await farm.queue.sweep();

    const machine = worker('south');
    const second = await machine.begin();
    const { usage: said } = usage({ billing: 'plan', cache_read_tokens: 7, unpriced_requests: 1 });
    await machine.complete(second, 'drained', { usage: said });
    const third = await machine.begin();
    await machine.handOver(third, { outcome: 'green', summary: 'Done' });

    const view = await farm.view(task);
    expect(view.result?.usage).toEqual(view.usage);
    expect(view.usage).toMatchObject({ requests: 4, cost_usd: 1, cache_read_tokens: 7, unpriced_requests: 1 });
    expect(view.usage?.billed_usd).toBeUndefined();
    expect(view.usage?.steps).toHaveLength(2);
  });

  it('counts a session once that goes on at the next epoch of its machine', async () => {
    const { task, worker } = await farm.alone();
    const machine = worker('north');
    const first = await machine.begin();
    await machine.beat(first, 'started', usage({ since_epoch: 1 }));
    await farm.time.pass(60_000);
    const again = await machine.claim([{ job_id: first.id, lease_id: first.lease_id }]);
    expect(again).toMatchObject({ continues: true, epoch: 2 });
    await machine.beat(again, 'started', usage({ requests: 3, since_epoch: 1 }));
    expect((await farm.view(task)).usage).toMatchObject({ requests: 3, cost_usd: 0.5 });
  });
});

describe('the budget of a Task', () => {
  it('pauses it at the limit, says why, and goes on only with a larger one', async () => {
    const { task, worker } = await farm.alone({ budget: { requests: 5 } });
    const machine = worker('north');
    const lease = await machine.begin();
    expect(await machine.beat(lease, 'started', usage({ requests: 4 }))).not.toHaveProperty('end');
    await machine.beat(lease, 'started', usage({ requests: 5 }));

    const view = await farm.view(task);
    expect(view).toMatchObject({ status: 'paused', pause_reason: 'budget_exhausted', budget: { requests: 5 } });
    expect(view.attention).toEqual([{ kind: 'budget_exhausted', summary: expect.stringContaining('5 of 5 requests') }]);
    expect(await machine.beat(lease)).toMatchObject({ held: true, end: { kind: 'pause' } });

    const { usage: said } = usage({ requests: 6 });
    await machine.complete(lease, 'paused', { usage: said });
    await expect(farm.control(task, 'resume')).rejects.toMatchObject({ code: 'budget_exhausted' });
    await expect(farm.control(task, 'resume', { requests: 6 })).rejects.toMatchObject({ code: 'budget_exhausted' });
    await farm.control(task, 'resume', { requests: 20 });
    expect(await farm.view(task)).toMatchObject({ status: 'running', budget: { requests: 20 }, attention: [] });
    const next = await machine.begin();
    await machine.handOver(next, { outcome: 'green', summary: 'Done' });
    expect(await farm.view(task)).toMatchObject({ status: 'completed', usage: { requests: 6 } });
  });

  it('holds the successor of a Dispatch whose end reached it', async () => {
    const { task, worker } = await farm.alone({ budget: { tokens: 100 } });
    const machine = worker('north');
    const lease = await machine.begin();
    await machine.complete(lease, 'crashed', { usage: usage().usage });
    expect(await farm.view(task)).toMatchObject({ status: 'paused', pause_reason: 'budget_exhausted' });
    await expect(machine.claim()).rejects.toThrow('nothing to claim');
    await farm.control(task, 'resume', { tokens: 1_000 });
    await expect(machine.claim()).resolves.toMatchObject({ kind: 'dispatch' });
  });

  it('is none that can be kept in money where nobody knows the price', async () => {
    const { task, worker } = await farm.alone({ budget: { usd: 10 } });
    const machine = worker('north');
    const lease = await machine.begin();
    await machine.beat(lease, 'started', usage({ unpriced_requests: 2 }));
    const view = await farm.view(task);
    expect(view.status).toBe('paused');
    expect(view.attention[0]?.summary).toContain('price of 2 requests is not known');
  });

  it('does not take a Result away that reached it', async () => {
    const { task, worker } = await farm.alone({ budget: { requests: 1 } });
    const machine = worker('north');
    const lease = await machine.begin();
    const callId = randomUUID();
    await machine.checkpoint(lease, { outcome: 'green', summary: 'Done' }, callId);
    await machine.complete(lease, 'handover', { handover: { call_id: callId }, usage: usage().usage });
    expect(await farm.view(task)).toMatchObject({ status: 'completed', result: { usage: { requests: 2 } } });
  });
});
