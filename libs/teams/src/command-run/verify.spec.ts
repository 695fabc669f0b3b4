import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CommandRunRequest, DispatchPayload, type LeasedJob, taskSearch } from '#contracts';
import { aTeamFarm, leaseTime, payloadOf, type TeamFarm } from '../../../../test/support/team-farm.js';
import { lockTask } from '../task/lock-task.js';
import { pauseTask } from '../task/pause-task.js';

let farm: TeamFarm;
beforeAll(async () => {
  farm = await aTeamFarm();
  await farm.workflow();
});
afterAll(() => farm.close());

const green = { summary: 'It is done', outcome: 'green' } as const;
const said = (text: string) => ({
  output: { observed_bytes: text.length, written_bytes: text.length, complete: true },
  tail: text,
});

type Alone = Awaited<ReturnType<TeamFarm['alone']>>;

/** A Task whose root is green and whose verify command waits for a machine. */
async function aGreenTask(more: Parameters<TeamFarm['alone']>[0] = {}) {
  const alone = await farm.alone({ verify: 'npm test', ...more });
  const north = alone.worker('north');
  await north.handOver(await north.begin(), green, { 'done.txt': 'done\n' });
  return { ...alone, north };
}

const runOf = async (task: string) => {
  const [run] = await farm.sql<{ id: string; state: string; failure_code: string | null }>(
    `select id, state, failure_code from command_run where task = '${task}'`,
  );
  return run;
};
const stateOfJob = async (lease: Pick<LeasedJob, 'id'>) =>
  (await farm.sql<{ state: string }>(`select state from job where id = '${lease.id}'`))[0]?.state;

async function lose({ worker }: Alone, name: string, phase: 'preparing' | 'started'): Promise<LeasedJob> {
  const machine = worker(name);
  const lease = await machine.claim();
  await machine.beat(lease, phase);
  await farm.time.pass(leaseTime);
  await farm.queue.sweep();
  return lease;
}

describe('the verification of a Task', () => {
  it('W11 asks for its workspace what the Task asks for those of its members; without a word each machine does its best', async () => {
    const isolationOf = ({ payload }: LeasedJob) =>
      DispatchPayload.pick({ isolation: true }).strip().parse(payload).isolation;
    const asked = { required: ['overlay', 'reflink'] as const, allow_fallback: false };
    const alone = await farm.alone({ verify: 'npm test', isolation: { ...asked, required: [...asked.required] } });
    const north = alone.worker('north');
    const lease = await north.begin();
    expect(isolationOf(lease)).toEqual(asked);
    await north.handOver(lease, green, { 'done.txt': 'done\n' });
    const command = await north.claim();
    expect([command.kind, isolationOf(command)]).toEqual(['command_run', asked]);
    const plain = await farm.alone();
    expect(isolationOf(await plain.worker('south').begin())).toEqual({ required: [], allow_fallback: false });
  });

  it('runs the verify command on the final tree after green, and tells green and verified as two facts', async () => {
    const { task, north } = await aGreenTask();
    expect(await farm.view(task)).toMatchObject({ status: 'running', product_status: 'working', result: null });
    const lease = await north.claim();
    expect(lease.kind).toBe('command_run');
    const shown = north.shown(lease);
    expect(CommandRunRequest.parse(await farm.teams.roads.request(shown))).toEqual({
      command: { kind: 'shell', command: 'npm test' },
      timeout_seconds: 3600,
    });
    const [root] = await farm.sql<{ line_head: string }>(`select line_head from assignment where task = '${task}'`);
    expect(payloadOf(lease).base).toBe(root?.line_head);
    await north.beat(lease, 'started');
    expect(await runOf(task)).toMatchObject({ state: 'running' });
    await farm.teams.roads.takeOutput(shown, 0, Readable.from([Buffer.from('1 test passed\n')]));
    await north.complete(lease, 'exited', { exit_code: 0, ...said('1 test passed\n') });

    const { status, result } = await farm.view(task);
    expect([status, result?.outcome, result?.verified]).toEqual(['completed', 'green', true]);
    expect(result?.verification).toMatchObject({
      command: 'npm test',
      state: 'succeeded',
      exit_code: 0,
      tail: '1 test passed\n',
      output: { observed_bytes: 14, complete: true },
    });
    const read = { task_id: task, command_id: result?.verification?.command_id ?? '', limit: 65_536 };
    expect(await farm.teams.commands.readOutput(read)).toEqual({
      command_id: read.command_id,
      text: '1 test passed\n',
      state: 'succeeded',
      next_cursor: null,
      is_bounded: false,
      output_complete: true,
      is_missing: false,
      is_changed: false,
    });
    expect((await farm.eventTypes(task)).slice(-4)).toEqual([
      'boundary_accepted',
      'command_run_opened',
      'command_run_started',
      'command_run_succeeded',
    ]);
  });

  it('keeps the work of a Task whose verify command fails: green, not verified', async () => {
    const { task, north } = await aGreenTask();
    const lease = await north.begin();
    await north.complete(lease, 'exited', { exit_code: 3, ...said('1 test failed\n') });
    const { status, result } = await farm.view(task);
    expect([status, result?.outcome, result?.verified]).toEqual(['completed', 'green', false]);
    expect(result?.verification).toMatchObject({ state: 'failed', exit_code: 3, tail: '1 test failed\n' });
    expect(result?.files_changed).toMatchObject([{ path: 'done.txt' }]);
    expect((await farm.teams.roads.result(task)).commit).toBe(result?.commit);
  });

  it('that does not pass calls somebody, and so does a setup command that failed; lists show both', async () => {
    const listed = async (query: string) => {
      const input = taskSearch.input.parse({ query });
      const { items } = await farm.database.reading((tx) => farm.teams.tasks.search(tx, input));
      return items.map(({ verified, attention }) => ({ verified, attention }));
    };
    const { task, north } = await aGreenTask({ title: 'Listed' });
    expect(await listed(task)).toEqual([{ verified: null, attention: 0 }]);
    await north.complete(await north.begin(), 'exited', { exit_code: 3, ...said('one test failed\n') });
    expect(await farm.view(task)).toMatchObject({
      result: { outcome: 'green', verified: false },
      attention: [{ kind: 'verify_failed', summary: expect.stringContaining('It ended with 3') }],
    });
    expect(await listed(task)).toEqual([{ verified: false, attention: 1 }]);

    const other = await farm.alone();
    const south = other.worker('south');
    const isolation = { requested: 'best', backend: 'clone', fell_back: false, prepare_ms: 1, capture_ms: 1, bytes: 0 };
    const failed = {
      ...isolation,
      setup: 'failed' as const,
      reasons: ['setup: the setup command ended with 1: no such tool'],
    };
    const called = [{ kind: 'setup_failed', summary: expect.stringContaining('no such tool. Put it right with') }];
    const first = await south.begin();
    await south.complete(first, 'drained', { isolation: failed });
    expect((await farm.view(other.task)).attention).toEqual(called);
    const second = await south.begin();
    const callId = crypto.randomUUID();
    await south.checkpoint(second, green, callId);
    await south.complete(second, 'handover', { handover: { call_id: callId }, isolation: failed });
    expect(await farm.view(other.task)).toMatchObject({ status: 'completed', attention: called });
    expect(await listed(other.task)).toEqual([{ verified: 'not_asked', attention: 1 }]);

    const mended = await farm.alone();
    const west = mended.worker('west');
    await west.complete(await west.begin(), 'drained', { isolation: failed });
    await west.complete(await west.begin(), 'drained', { isolation: { ...isolation, setup: 'done', reasons: [] } });
    expect((await farm.view(mended.task)).attention).toEqual([]);
  });

  it('is not asked for by default, and not run where the Task ended blocked', async () => {
    const plain = await farm.alone();
    const one = plain.worker('one');
    await one.handOver(await one.begin(), green);
    expect((await farm.view(plain.task)).result).toMatchObject({ verified: 'not_asked', verification: null });

    const blocked = await farm.alone({ verify: 'npm test' });
    const two = blocked.worker('two');
    await two.handOver(await two.begin(), { summary: 'I can not', outcome: 'blocked' });
    expect((await farm.view(blocked.task)).result).toMatchObject({
      outcome: 'blocked',
      verified: false,
      verification: { state: 'not_run', command_id: null },
    });
    await expect(two.claim()).rejects.toThrow('nothing to claim');
  });

  it('H8 gives a command that was not started to another machine, and one that was started to nobody', async () => {
    const unstarted = await aGreenTask();
    const first = await lose(unstarted, 'north', 'preparing');
    expect(await stateOfJob(first)).toBe('queued');
    await farm.time.pass(60_000);
    const second = await unstarted.worker('south').claim();
    expect([second.id, second.epoch]).toEqual([first.id, 2]);

    const started = await aGreenTask();
    const lost = await lose(started, 'north', 'started');
    expect(await stateOfJob(lost)).toBe('done');
    expect(await runOf(started.task)).toMatchObject({ state: 'abandoned', failure_code: 'command_ownership_lost' });
    await expect(started.worker('south').claim()).rejects.toThrow('nothing to claim');
    const { status, result } = await farm.view(started.task);
    expect([status, result?.outcome, result?.verified]).toEqual(['completed', 'green', false]);
    expect(result?.verification).toMatchObject({ state: 'abandoned', exit_code: null });
  });

  it.each(['environment', 'provider_start', 'prepare_failed', 'job_error', 'upload_failed'] as const)(
    'H8 queues nothing again that has started, though its worker says %s',
    async (reason) => {
      const { task, north } = await aGreenTask();
      const lease = await north.begin();
      await north.beat(lease, 'preparing');
      await north.fail(lease, reason, true);
      expect(await stateOfJob(lease)).toBe('done');
      expect(await runOf(task)).toMatchObject({ state: 'abandoned' });
    },
  );

  it('H8 lets nobody requeue or redrive a command, whatever became of it', async () => {
    const { north } = await aGreenTask();
    const lease = await north.claim();
    const refused = { code: 'not_resumable' };
    await expect(farm.tx((tx) => farm.queue.requeue(tx, lease.id))).rejects.toMatchObject(refused);
    await north.beat(lease, 'started');
    await expect(farm.tx((tx) => farm.queue.requeue(tx, lease.id))).rejects.toMatchObject(refused);
    await north.complete(lease, 'exited', { exit_code: 1 });
    await expect(farm.tx((tx) => farm.queue.redrive(tx, lease.id))).rejects.toMatchObject(refused);
  });

  it('D15 calls a command that two machines lost before its start a failed launch', async () => {
    const green = await aGreenTask();
    await lose(green, 'north', 'preparing');
    await farm.time.pass(60_000);
    const lost = await lose(green, 'south', 'preparing');
    expect(await stateOfJob(lost)).toBe('done');
    expect((await farm.view(green.task)).result).toMatchObject({
      verified: false,
      verification: { state: 'failed', detail: expect.stringContaining('lost'), command_id: null, output: null },
    });
  });

  it('H11 sends a command elsewhere that its machine can not run, uncounted', async () => {
    const { task, north, worker } = await aGreenTask();
    for (const machine of [north, worker('second'), worker('third')])
      await machine.fail(await machine.claim(), 'environment');
    const good = worker('fourth');
    await good.complete(await good.begin(), 'exited', { exit_code: 0 });
    expect((await farm.view(task)).result).toMatchObject({ verified: true });
  });

  it('D3 tells a timeout and a launch that failed from a command that ended', async () => {
    const [late, missing] = [await aGreenTask(), await aGreenTask()];
    await late.north.complete(await late.north.begin(), 'timed_out', said('so far\n'));
    await missing.north.complete(await missing.north.begin(), 'launch_failed', { detail: 'No such folder.' });
    expect((await farm.view(late.task)).result?.verification).toMatchObject({ state: 'timed_out', tail: 'so far\n' });
    expect((await farm.view(missing.task)).result?.verification).toMatchObject({
      state: 'failed',
      exit_code: null,
      detail: 'No such folder.',
    });
    const { north } = await aGreenTask();
    await expect(north.complete(await north.begin(), 'handover', {})).rejects.toMatchObject({ code: 'invalid_input' });
  });

  it('loses nothing to a cancel: the command ends, and the Task completes green and not verified', async () => {
    const [waiting, held, lost] = [await aGreenTask(), await aGreenTask(), await aGreenTask()];
    await farm.control(waiting.task, 'cancel');
    expect(await farm.view(waiting.task)).toMatchObject({
      status: 'completed',
      result: { outcome: 'green', verified: false, verification: { state: 'cancelled' } },
    });
    const lease = await held.north.begin();
    await farm.control(held.task, 'cancel');
    expect(await farm.view(held.task)).toMatchObject({ status: 'running' });
    expect(await held.north.beat(lease)).toMatchObject({ end: { kind: 'cancel' } });
    await held.north.complete(lease, 'cancelled', said('half\n'));
    expect((await farm.view(held.task)).result).toMatchObject({
      verified: false,
      verification: { state: 'cancelled', tail: 'half\n' },
    });
    await lost.north.begin();
    await farm.control(lost.task, 'cancel');
    await farm.time.pass(leaseTime);
    await farm.queue.sweep();
    expect(await farm.view(lost.task)).toMatchObject({ status: 'completed', result: { verified: false } });
  });

  it('H29 lets the lease of a command read its base and its command, and write no pack', async () => {
    const { north, worker } = await aGreenTask();
    const lease = await north.begin();
    const { roads } = farm.teams;
    expect((await roads.bundle(north.shown(lease), [])).size).toBeGreaterThan(0);
    const copy = { ...north.shown(lease), worker: worker('south').claimer.worker };
    await expect(roads.request(copy)).rejects.toMatchObject({ code: 'stale_lease' });
    await expect(roads.bundle(copy, [])).rejects.toMatchObject({ code: 'stale_lease' });
    const pack = roads.takePack(north.shown(lease), payloadOf(lease).base, Readable.from([]));
    await expect(pack).rejects.toMatchObject({ code: 'not_available' });
  });

  it('H17 shows the output of the lease that started the command, page by page, and of no other', async () => {
    const green = await aGreenTask();
    const early = await lose(green, 'north', 'preparing');
    // What a machine wrote that never came to start it.
    await farm.teams.roads
      .takeOutput(green.worker('north').shown(early), 0, Readable.from([Buffer.from('not this\n')]))
      .catch(() => undefined);
    await farm.time.pass(60_000);
    const south = green.worker('south');
    const lease = await south.begin();
    const text = 'naïve 😀 output\n';
    const bytes = Buffer.from(text);
    const put = (n: number, from: number, to: number) =>
      farm.teams.roads.takeOutput(south.shown(lease), n, Readable.from([bytes.subarray(from, to)]));
    await put(0, 0, 9);
    const [run] = await farm.sql<{ name: string }>(`select name from command_run where task = '${green.task}'`);
    const page = (cursor?: string, limit = 4) =>
      farm.teams.commands.readOutput({
        task_id: green.task,
        command_id: run?.name ?? '',
        limit,
        ...(cursor !== undefined && { cursor }),
      });
    let shown = '';
    let cursor: string | undefined;
    for (let pages = 0; pages < 4; pages += 1) {
      const { text: more, next_cursor } = await page(cursor);
      shown += more;
      cursor = next_cursor ?? undefined;
    }
    await put(1, 9, bytes.length);
    await south.complete(lease, 'exited', { exit_code: 0 });
    for (let pages = 0; cursor !== undefined && pages < 20; pages += 1) {
      const { text: more, next_cursor } = await page(cursor);
      shown += more;
      cursor = next_cursor ?? undefined;
    }
    expect(shown).toBe(text);
    await expect(page('bm8')).rejects.toMatchObject({ code: 'cursor_reset_required' });
    await expect(
      farm.teams.commands.readOutput({ task_id: green.task, command_id: 'c_00000000', limit: 1 }),
    ).rejects.toMatchObject({ code: 'not_found' });
  });

  it('D8 completes a Task that paused meanwhile: the verification spends nothing of the team', async () => {
    const { task, north } = await aGreenTask();
    const lease = await north.begin();
    await farm.tx(async (tx) => {
      await pauseTask(
        { queue: () => farm.queue, bell: { ring: () => undefined, listen: () => () => undefined } },
        tx,
        await lockTask(tx, task),
        {
          reason: 'paused_by_operator',
          detail: 'A person paused it.',
        },
      );
    });
    await north.complete(lease, 'exited', { exit_code: 0 });
    expect(await farm.view(task)).toMatchObject({ status: 'completed', result: { verified: true } });
  });

  it('calls somebody when no machine may run the command', async () => {
    const { task } = await aGreenTask();
    await farm.teams.sweeps.noteMissingMachines([]);
    expect((await farm.view(task)).attention).toMatchObject([{ kind: 'no_machine' }]);
  });
});
