import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { limits } from '#contracts';
import { inTurn } from '../../../../test/support/in-turn.js';
import { aTeamFarm, leaseTime, type TeamFarm } from '../../../../test/support/team-farm.js';

let farm: TeamFarm;
beforeAll(async () => {
  farm = await aTeamFarm();
  await farm.workflow();
  await farm.workflow('asker', { capabilities: { human_request: ['input'] } });
  const walls = { kind: 'scripted', sandbox: { mode: 'workspace_write', network: 'deny' } };
  await farm.workflow('walled', { children: [{ id: 'a', provider: walls }, { id: 'b' }] });
});
afterAll(() => farm.close());

const green = { summary: 'Done', outcome: 'green' } as const;
const question = {
  kind: 'input' as const,
  summary: 'Which?',
  items: [
    {
      id: 'q',
      prompt: 'Which?',
      options: [
        { id: 'l', title: 'Left' },
        { id: 'r', title: 'Right' },
      ],
    },
  ],
};
type Worker = ReturnType<Awaited<ReturnType<TeamFarm['alone']>>['worker']>;
type Lease = Awaited<ReturnType<Worker['begin']>>;

const laneOf = async (task: string) =>
  (await farm.sql(`select attempt, recoveries from assignment where task = '${task}' and parent is null`))[0];
const dispatchesOf = (task: string) =>
  farm.sql<{ id: string; reason: string; closed_reason: string | null; state: string }>(
    `select d.id, d.reason, d.closed_reason, j.state from dispatch d join job j on j.id = d.id where d.task = '${task}' order by j.seq`,
  );
const startsOf = async (task: string) =>
  (await farm.eventTypes(task)).filter((type) => type === 'dispatch_start_updated').length;

/** Beats all along, and no sign of life of the session. */
async function silentFor(north: Worker, lease: Lease, ms: number): Promise<void> {
  for (let idle = 0; idle < ms; idle += leaseTime / 2) {
    await farm.time.pass(Math.min(leaseTime / 2, ms - idle));
    const silence = { phase: 'started' as const, idle_ms: Math.min(idle + leaseTime / 2, ms), acks: [] };
    await farm.queue.heartbeat(north.claimer, [
      { job_id: lease.id, epoch: lease.epoch, lease_id: lease.lease_id, ...silence },
    ]);
  }
}

describe('a session that does not report', () => {
  it('Q9 is followed twice, then the Task pauses; Resume goes on and counts anew', async () => {
    const { task, worker } = await farm.alone();
    const north = worker('north');
    for (let n = 1; n <= limits.recoveries; n += 1) {
      const lease = await north.begin();
      await north.complete(lease, 'silent');
      const [next] = (await dispatchesOf(task)).slice(-1);
      expect(next).toMatchObject({ reason: 'watchdog_recovery', state: 'queued' });
      expect(await laneOf(task)).toEqual({ attempt: 1, recoveries: n });
    }
    const third = await north.begin();
    expect((await north.context(third)).continuation).toMatchObject({
      kind: 'watchdog_recovery',
      recovery_count: limits.recoveries,
      ended: 'silent',
    });
    await north.complete(third, 'silent');
    expect(await farm.view(task)).toMatchObject({ status: 'paused', pause_reason: 'runtime_recovery_exhausted' });
    await farm.control(task, 'resume');
    const next = await north.begin();
    expect((await north.context(next)).continuation).toMatchObject({
      kind: 'operator_continue',
      source_dispatch: third.id,
      pause_reason: 'runtime_recovery_exhausted',
    });
    expect(await laneOf(task)).toEqual({ attempt: 1, recoveries: 0 });
    await north.complete(next, 'silent');
    expect(await farm.view(task)).toMatchObject({ status: 'running' });
    expect(await laneOf(task)).toEqual({ attempt: 1, recoveries: 1 });
  });

  it('N8 D6 is lost after fifty minutes without life though its machine beats, and not a moment before', async () => {
    expect(limits).toMatchObject({ silenceMs: 2_700_000, sweepSilenceMs: 3_000_000, recoveries: 2 });
    const { task, worker } = await farm.alone();
    const north = worker('north');
    const lease = await north.begin();
    await silentFor(north, lease, limits.sweepSilenceMs - 1_000);
    expect((await farm.queue.sweep()).requeued).not.toContain(lease.id);
    await farm.time.pass(1_000);
    expect((await farm.queue.sweep()).requeued).toContain(lease.id);
    expect(await laneOf(task)).toEqual({ attempt: 1, recoveries: 1 });
    expect(await north.beat(lease)).toMatchObject({ held: false });
  });

  it('R15 D6 is left alone when it gives a sign of life before the sweep has it, whichever is first', async () => {
    for (const beatFirst of [true, false]) {
      const { task, worker } = await farm.alone();
      const north = worker('north');
      const lease = await north.begin();
      await silentFor(north, lease, limits.sweepSilenceMs - 1_000);
      await farm.time.pass(1_000);
      const beat = () => north.beat(lease);
      const sweep = () => farm.queue.sweep();
      const [first, second] = beatFirst ? [beat, sweep] : [sweep, beat];
      await first();
      await second();
      expect(await farm.queue.find(farm.database, lease.id)).toMatchObject({ state: beatFirst ? 'leased' : 'queued' });
      expect(await laneOf(task)).toMatchObject({ recoveries: beatFirst ? 0 : 1 });
    }
    const { task, worker } = await farm.alone();
    const north = worker('north');
    const lease = await north.begin();
    await silentFor(north, lease, limits.sweepSilenceMs - 1_000);
    await farm.time.pass(1_000);
    const [reply] = await Promise.all([north.beat(lease), farm.queue.sweep(), farm.another().queue.sweep()]);
    const { state } = (await farm.queue.find(farm.database, lease.id)) ?? {};
    expect([state, await laneOf(task)]).toEqual(
      reply?.held ? ['leased', { attempt: 1, recoveries: 0 }] : ['queued', { attempt: 1, recoveries: 1 }],
    );
  });

  it('R16 D6 that has asked a person waits for that person or is lost, never both, whoever has the Task first', async () => {
    for (const sweepFirst of [false, true]) {
      const { task, worker } = await farm.alone({ workflow_id: 'asker' });
      const north = worker('north');
      const lease = await north.begin();
      const callId = randomUUID();
      await north.ask(lease, question, callId);
      await silentFor(north, lease, limits.sweepSilenceMs - 1_000);
      await farm.time.pass(1_000);
      const arrives = () => north.complete(lease, 'handover', { handover: { call_id: callId } });
      const sweep = () => farm.queue.sweep();
      const [one, two] = sweepFirst ? [sweep, arrives] : [arrives, sweep];
      const [first, second] = await inTurn(farm, task, one, two);
      const requests = await farm.sql(`select status from human_request where task = '${task}'`);
      if (sweepFirst) {
        expect(second).toMatchObject({ status: 'rejected', reason: { code: 'stale_lease' } });
        expect(requests).toEqual([]);
        expect(await dispatchesOf(task)).toMatchObject([{ id: lease.id, closed_reason: null, state: 'queued' }]);
      } else {
        expect(first).toMatchObject({ status: 'fulfilled', value: { kept: true } });
        expect(requests).toEqual([{ status: 'open' }]);
        expect(await dispatchesOf(task)).toMatchObject([{ closed_reason: 'human_request_wait', state: 'done' }]);
      }
      expect(await laneOf(task)).toMatchObject({ recoveries: sweepFirst ? 1 : 0 });
    }
  });

  it('R14 whose successor no machine may run waits and calls somebody; the other lanes go on', async () => {
    const { task, worker } = await farm.alone({ workflow_id: 'walled' });
    const walled = farm.worker('walled', { ...worker('walled').claimer, labels: ['sandbox:bwrap'] });
    const lead = await walled.begin();
    const assignments = ['a', 'b'].map((child_id) => ({ child_id, prompt: 'Do it' }));
    await walled.handOverBy(lead, (callId) => walled.delegate(lead, { assignments }, callId));
    const leases = [await walled.begin(), await walled.begin()];
    for (const lease of leases) {
      const { current_member } = await walled.context(lease);
      await walled.complete(lease, current_member.id === 'a' ? 'crashed' : 'drained');
    }
    const { pool } = walled.claimer;
    const plain = { worker: 'plain', pool, labels: [] as string[], accounts: [] };
    await farm.teams.sweeps.noteMissingMachines([plain]);
    expect(await farm.view(task)).toMatchObject({
      status: 'running',
      attention: [{ kind: 'no_machine', summary: expect.stringContaining('sandbox:bwrap') }],
    });
    const north = worker('north');
    await farm.time.pass(limits.preferMs + 1);
    const b = await north.begin();
    expect((await north.context(b)).current_member.id).toBe('b');
    await north.handOver(b, green);
    await expect(north.claim()).rejects.toThrow('nothing to claim');
    expect(await farm.teams.sweeps.retestLanes()).not.toContain(task);
    await farm.teams.sweeps.noteMissingMachines([plain, { ...plain, worker: 'walled', labels: ['sandbox:bwrap'] }]);
    expect((await farm.view(task)).attention).toEqual([]);
    const again = await walled.begin();
    expect((await walled.context(again)).continuation).toMatchObject({ kind: 'watchdog_recovery', recovery_count: 1 });
  });
});

describe('the start of a session', () => {
  it('R21 D12 whose beat was answered and the answer lost is one start, and nothing is cleaned up', async () => {
    const { task, worker } = await farm.alone();
    const north = worker('north');
    const lease = await north.claim();
    await north.beat(lease, 'started');
    expect(await north.beat(lease, 'started')).toMatchObject({ held: true });
    expect(await startsOf(task)).toBe(1);
    await north.plan(lease, [{ step: 'Look', status: 'in_progress' }]);
    expect(await startsOf(task)).toBe(1);
    await farm.queue.sweep();
    expect(await dispatchesOf(task)).toMatchObject([{ id: lease.id, closed_reason: null, state: 'leased' }]);
    await north.handOver(lease, green);
  });

  it('R22 D12 whose beat never came is told by its first call; a beat that comes after its end opens nothing', async () => {
    const { task, worker } = await farm.alone();
    const north = worker('north');
    const lease = await north.claim();
    await north.handOver(lease, green);
    expect(await startsOf(task)).toBe(1);
    const events = await farm.eventTypes(task);
    expect(await north.beat(lease, 'started')).toMatchObject({ held: false });
    expect(await farm.eventTypes(task)).toEqual(events);
    expect(await farm.view(task)).toMatchObject({ status: 'completed' });
    expect(await dispatchesOf(task)).toMatchObject([{ closed_reason: 'boundary', state: 'done' }]);
  });

  it('R22 D12 and its end at the same moment are one start and one end', async () => {
    const { task, worker } = await farm.alone();
    const north = worker('north');
    const lease = await north.claim();
    const callId = randomUUID();
    const prepared = await north.prepare(lease, 'crashed');
    const fence = { job_id: lease.id, epoch: lease.epoch, lease_id: lease.lease_id };
    await Promise.all([
      north.beat(lease, 'started'),
      farm.tx((tx) => farm.queue.complete(tx, north.claimer, fence, { ended: 'crashed', result: {} }, prepared)),
      north.checkpoint(lease, { summary: 'Begun' }, callId).catch(() => undefined),
    ]);
    expect(await startsOf(task)).toBe(1);
    expect(await dispatchesOf(task)).toMatchObject([
      { closed_reason: 'watchdog_superseded' },
      { reason: 'watchdog_recovery', state: 'queued' },
    ]);
  });

  it('R23 D11 of a machine that was started anew goes on with nothing of the boot before it, whose word is void', async () => {
    const { task, worker } = await farm.alone();
    const north = worker('north');
    const lease = await north.begin();
    const bytes = JSON.stringify(await farm.teams.roads.request(north.shown(lease)));
    const callId = randomUUID();
    await north.checkpoint(lease, green, callId);
    const again = north.rebooted();
    const frozen = [{ job_id: lease.id, lease_id: lease.lease_id }];
    await expect(again.claim(frozen)).rejects.toThrow('nothing to claim');
    await farm.time.pass(leaseTime);
    const next = await again.claim(frozen).catch(async () => {
      await farm.queue.sweep();
      return again.claim(frozen);
    });
    expect(next).toMatchObject({ id: lease.id, epoch: 2, continues: false });
    expect(JSON.stringify(await farm.teams.roads.request(again.shown(next)))).toBe(bytes);
    for (const say of [
      () => north.complete(lease, 'handover', { handover: { call_id: callId } }),
      () => north.checkpoint(lease, green, callId),
    ])
      await expect(say()).rejects.toMatchObject({ code: 'stale_lease' });
    await expect(again.complete(next, 'handover', { handover: { call_id: callId } })).rejects.toMatchObject({
      code: 'handover_refused',
    });
    expect(await laneOf(task)).toMatchObject({ recoveries: 1 });
    await again.handOver(next, green);
    expect(await farm.view(task)).toMatchObject({ status: 'completed' });
  });
});

describe('a provider that does not start', () => {
  it('N8 is tried again after 1, 2, 4, 8 seconds, five times in all, and spends no recovery', async () => {
    expect(limits).toMatchObject({ startAttempts: 5, stopGraceMs: 10_000, commandGraceMs: 2_000 });
    const { task, worker } = await farm.alone();
    const north = worker('north');
    for (const seconds of [1, 2, 4, 8]) {
      await north.fail(await north.claim(), 'provider_start');
      await farm.time.pass(seconds * 1000 - 100);
      await expect(north.claim()).rejects.toThrow('nothing to claim');
      await farm.time.pass(100);
    }
    await north.fail(await north.claim(), 'provider_start');
    expect(await dispatchesOf(task)).toMatchObject([{ closed_reason: 'control_failed', state: 'done' }]);
    expect(await farm.view(task)).toMatchObject({
      status: 'paused',
      attention: [{ kind: 'lane_exhausted', summary: expect.stringContaining('provider_start') }],
    });
    expect(await laneOf(task)).toEqual({ attempt: 1, recoveries: 0 });
  });
});
