import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CommandRunInput, CommandRunPayload, limits } from '#contracts';
import { inTurn } from '../../../../test/support/in-turn.js';
import { aTeamFarm, leaseTime, payloadOf, person, type TeamFarm } from '../../../../test/support/team-farm.js';
import { lockTask } from '../task/lock-task.js';
import { pauseTask } from '../task/pause-task.js';

let farm: TeamFarm;
beforeAll(async () => {
  farm = await aTeamFarm();
  await farm.workflow('builder', { capabilities: { command_run: 'allow' } });
  await farm.workflow('idler', { capabilities: { human_request: ['input'] } });
});
afterAll(() => farm.close());

type Request = Parameters<ReturnType<TeamFarm['worker']>['run']>[1];
const build: Request = { command: { kind: 'argv', argv: ['make', 'all'] }, timeout_seconds: 60, summary: 'Build it' };
const green = { summary: 'Done', outcome: 'green' } as const;
const said = (tail: string) => ({ tail, output: { observed_bytes: 9, written_bytes: 9, complete: true } });

async function aBuilder(workflow_id = 'builder') {
  const { task, worker } = await farm.alone({ workflow_id });
  const north = worker('north');
  return { task, worker, north, lease: await north.begin() };
}

/** The lead has its command run, and what it did before has arrived. */
async function asked(request: Request = build, files: Readonly<Record<string, string>> = { 'src/a.txt': 'a\n' }) {
  const { task, worker, north, lease } = await aBuilder();
  let name = '';
  await north.handOverBy(
    lease,
    async (callId) => {
      name = (await north.run(lease, request, callId)).command_id;
    },
    { files },
  );
  return { task, worker, north, name };
}

const headOf = async (task: string) =>
  (await farm.sql<{ line_head: string }>(`select line_head from assignment where task = '${task}'`))[0]?.line_head;
const runOf = async (task: string) => (await farm.sql(`select * from command_run where task = '${task}'`))[0];
const results = (task: string) =>
  farm.sql(`select id from dispatch where task = '${task}' and reason = 'command_result'`);

describe('a command of a member', () => {
  it('M9 hands over, runs on what the member left, and comes back with its end and with what it changed', async () => {
    const { task, north, name } = await asked();
    expect(await runOf(task)).toMatchObject({ name, state: 'pending_start', base: await headOf(task) });
    const command = await north.begin();
    expect(CommandRunPayload.parse(command.payload)).toMatchObject({ purpose: 'member', command_id: name });
    expect(payloadOf(command).base).toBe(await headOf(task));
    expect(await farm.teams.roads.request(north.shown(command))).toEqual({
      command: build.command,
      timeout_seconds: 60,
    });
    const work = await north.work(command, { 'dist/out.txt': 'built\n' });
    await north.upload(command, work);
    await north.complete(command, 'exited', { exit_code: 3, commit: work.commit, ...said('1 failed\n') });
    expect(await headOf(task)).toBe(work.commit);
    expect(await runOf(task)).toMatchObject({ state: 'failed', exit_code: 3, commit: work.commit });

    const next = await north.begin();
    expect(payloadOf(next).base).toBe(work.commit);
    expect((await north.context(next)).continuation).toMatchObject({
      kind: 'command_result',
      request: { command_id: name, command: build.command, summary: 'Build it', timeout_seconds: 60 },
      terminal: {
        state: 'failed',
        exit_code: 3,
        failure_code: 'command_nonzero_exit',
        summary: 'It ended with 3.',
        output_path: `.longshore/${task}/command-runs/${name}/output.log`,
        observed_bytes: 9,
        written_bytes: 9,
        complete: true,
        source: 'controller',
        tail: '1 failed\n',
      },
    });
    await north.handOver(next, green);
    expect(await farm.view(task)).toMatchObject({ status: 'completed', rescues: [] });
  });

  it('H1 D1 writes nothing before the work has arrived, and asks again whether the folder is there', async () => {
    const { task, north, lease } = await aBuilder();
    const callId = randomUUID();
    await north.run(lease, { ...build, cwd: 'dist' }, callId);
    expect(await runOf(task)).toBeUndefined();
    const refused = north.complete(lease, 'handover', { handover: { call_id: callId } });
    await expect(refused).rejects.toMatchObject({
      code: 'handover_refused',
      detail: expect.stringContaining('folder'),
    });
    await north.handOverBy(lease, (id) => north.run(lease, { ...build, cwd: 'src/deep' }, id), {
      files: { 'src/deep/a.txt': 'a\n' },
    });
    expect(await runOf(task)).toMatchObject({ cwd: 'src/deep', state: 'pending_start' });
  });

  it('I22 refuses a folder that is a file or a link, or leads out', async () => {
    const { north, lease } = await aBuilder();
    for (const cwd of ['/etc', '../x', 'a//b', '.'])
      expect(CommandRunInput.safeParse({ ...build, cwd }).success).toBe(false);
    const file = north.handOverBy(lease, (id) => north.run(lease, { ...build, cwd: 'src/a.txt' }, id), {
      files: { 'src/a.txt': 'a\n' },
    });
    await expect(file).rejects.toMatchObject({
      code: 'handover_refused',
      detail: expect.stringContaining('is a file'),
    });
  });

  it('I20 is for who was granted it: only there it is shown, and a guess is refused', async () => {
    const { north, lease } = await aBuilder();
    expect(lease.payload).toMatchObject({ tools: expect.arrayContaining(['start_command_run']) });
    const { current_member, available_actions } = await north.context(lease);
    expect(current_member.effective_capabilities.command_run).toBe('allow');
    expect(available_actions).toContain('start_command_run');
    const idler = await aBuilder('idler');
    expect(idler.lease.payload).toMatchObject({ tools: expect.not.arrayContaining(['start_command_run']) });
    await expect(idler.north.run(idler.lease, build)).rejects.toMatchObject({ code: 'capability_rejected' });
  });

  it('N6 takes a command at its limits and not over them', () => {
    const takes = (part: Readonly<Record<string, unknown>>) => CommandRunInput.safeParse({ ...build, ...part }).success;
    const argv = (count: number, length = 1) => ({
      command: { kind: 'argv', argv: Array.from({ length: count }, () => 'x'.repeat(length)) },
    });
    const shell = (bytes: number) => ({ command: { kind: 'shell', command: 'x'.repeat(bytes) } });
    expect([takes(argv(0)), takes(argv(1)), takes(argv(256, 4096)), takes(argv(257))]).toEqual([
      false,
      true,
      true,
      false,
    ]);
    expect([takes(argv(1, 4096)), takes(argv(1, 4097))]).toEqual([true, false]);
    expect([takes(shell(16_384)), takes(shell(16_385))]).toEqual([true, false]);
    expect([takes({ summary: 'x'.repeat(2048) }), takes({ summary: 'x'.repeat(2049) })]).toEqual([true, false]);
    expect([0, 1, 86_400, 86_401].map((timeout_seconds) => takes({ timeout_seconds }))).toEqual([
      false,
      true,
      true,
      false,
    ]);
  });

  it('N6 tells of a command at its limits as much as says which it was', async () => {
    const argv = Array.from({ length: limits.commandArguments }, () => '&'.repeat(limits.commandArgument));
    const { north } = await asked({ ...build, command: { kind: 'argv', argv } });
    const command = await north.begin();
    await north.complete(command, 'exited', { exit_code: 0 });
    const { continuation } = await north.context(await north.begin());
    expect(continuation).toMatchObject({
      request: { command: { argv: argv.slice(0, 4), arguments_left_out: 252 } },
      terminal: { state: 'succeeded' },
    });
  });

  it('R3 D2 is one of two handovers that come at once: the first stands and is applied, the other is refused', async () => {
    await farm.workflow('manager', { capabilities: { command_run: 'allow' }, children: [{ id: 'helper' }] });
    for (const runFirst of [true, false]) {
      const { task, north, lease } = await aBuilder('manager');
      const calls = { run: randomUUID(), give: randomUUID() };
      const run = () => north.run(lease, build, calls.run);
      const give = () => north.delegate(lease, { assignments: [{ child_id: 'helper', prompt: 'Help' }] }, calls.give);
      const [one, two] = runFirst ? [run, give] : [give, run];
      const [first, second] = await inTurn(farm, task, one, two);
      expect(first.status).toBe('fulfilled');
      expect(second).toMatchObject({ status: 'rejected', reason: { code: 'illegal_state' } });
      const waves = () => farm.sql(`select status from wave where task = '${task}'`);
      expect([await runOf(task), await waves()]).toEqual([undefined, []]);
      await north.complete(lease, 'handover', { handover: { call_id: runFirst ? calls.run : calls.give } });
      expect(await waves()).toEqual(runFirst ? [] : [{ status: 'open' }]);
      expect((await runOf(task))?.state).toBe(runFirst ? 'pending_start' : undefined);
    }
  });

  it('H8 I21 calls a command abandoned whose machine is lost, tells its member, and never runs it again', async () => {
    const { task, worker, north } = await asked();
    const command = await north.begin();
    await farm.time.pass(leaseTime);
    await farm.queue.sweep();
    expect(await runOf(task)).toMatchObject({ state: 'abandoned', failure_code: 'command_ownership_lost' });
    await expect(north.complete(command, 'exited', { exit_code: 0 })).rejects.toMatchObject({ code: 'stale_lease' });
    await farm.time.pass(60_000);
    const south = worker('south');
    expect((await south.begin()).kind).toBe('dispatch');
    await expect(south.claim()).rejects.toThrow('nothing to claim');
    expect(await results(task)).toHaveLength(1);
  });

  it('Q8 tells its member what a lost machine leaves unknown', async () => {
    const { worker, north } = await asked();
    await north.begin();
    await farm.time.pass(leaseTime);
    await farm.queue.sweep();
    await farm.time.pass(60_000);
    const south = worker('south');
    const next = await south.begin();
    expect((await south.context(next)).continuation).toMatchObject({
      kind: 'command_result',
      terminal: { state: 'abandoned', failure_code: 'command_ownership_lost', complete: false },
    });
  });

  it('I14 R17 writes its end while the Task is paused, and Resume goes on with it, once', async () => {
    const { task, north, name } = await asked();
    const command = await north.begin();
    await pause(task);
    await north.complete(command, 'exited', { exit_code: 0 });
    expect(await runOf(task)).toMatchObject({ state: 'succeeded' });
    await expect(north.claim()).rejects.toThrow('nothing to claim');
    await farm.control(task, 'resume');
    await farm.teams.sweeps.retestLanes();
    const next = await north.begin();
    expect((await north.context(next)).continuation).toMatchObject({
      kind: 'command_result',
      request: { command_id: name },
    });
    expect(await results(task)).toHaveLength(1);
  });

  it('D8 waits for Resume where it was asked for while the Task was paused', async () => {
    const { task, north, lease } = await aBuilder();
    const callId = randomUUID();
    await north.run(lease, build, callId);
    await pause(task);
    await north.complete(lease, 'handover', { handover: { call_id: callId } });
    expect(await runOf(task)).toMatchObject({ state: 'pending_start' });
    await expect(north.claim()).rejects.toThrow('nothing to claim');
    await farm.control(task, 'resume');
    expect((await north.claim()).kind).toBe('command_run');
  });

  it.each(['never beaten', 'environment', 'account_refused', 'provider_start'] as const)(
    'D8 waits for Resume where it comes back from its machine while the Task is paused: %s',
    async (how) => {
      const { task, worker, north } = await asked();
      const command = await north.claim();
      await farm.control(task, 'pause');
      if (how === 'never beaten') {
        await farm.time.pass(leaseTime);
        await farm.queue.sweep();
      } else await north.fail(command, how);
      const [job] = await farm.sql(`select state from job where id = '${command.id}'`);
      expect(job).toEqual({ state: 'held' });
      await expect(worker('south').claim()).rejects.toThrow('nothing to claim');
      await farm.control(task, 'resume');
      await farm.time.pass(leaseTime);
      expect((await worker('south').claim()).id).toBe(command.id);
    },
  );

  it('I15 ends with its Task: at once where nobody has it, else when its machine has ended it; its work is kept', async () => {
    const waiting = await asked();
    await farm.control(waiting.task, 'cancel');
    expect(await runOf(waiting.task)).toMatchObject({ state: 'cancelled' });
    await expect(waiting.north.claim()).rejects.toThrow('nothing to claim');

    const held = await asked();
    const command = await held.north.begin();
    await farm.control(held.task, 'cancel');
    expect(await runOf(held.task)).toMatchObject({ state: 'cancellation_requested' });
    expect(await held.north.beat(command)).toMatchObject({ end: { kind: 'cancel' } });
    const work = await held.north.work(command, { 'half.txt': 'half\n' });
    await held.north.upload(command, work);
    await held.north.complete(command, 'cancelled', { commit: work.commit });
    expect(await runOf(held.task)).toMatchObject({ state: 'cancelled', commit: null });
    expect(await headOf(held.task)).not.toBe(work.commit);
    expect((await farm.view(held.task)).rescues).toMatchObject([
      { commit: work.commit, why: 'the Task was cancelled' },
    ]);
    expect(await results(held.task)).toEqual([]);

    const lost = await asked();
    await lost.north.begin();
    await farm.control(lost.task, 'cancel');
    await farm.time.pass(leaseTime);
    await farm.queue.sweep();
    expect(await runOf(lost.task)).toMatchObject({ state: 'abandoned' });
  });

  it('R20 H12 has one end where it exits and its Task is cancelled in the same moment, whichever is first', async () => {
    for (const exitFirst of [true, false]) {
      const { task, north } = await asked();
      const command = await north.begin();
      const work = await north.work(command, { 'dist/out.txt': 'built\n' });
      await north.upload(command, work);
      const before = await headOf(task);
      const action_id = (await farm.view(task)).actions.find(({ kind }) => kind === 'cancel')?.id ?? '';
      const exit = () => north.complete(command, 'exited', { exit_code: 0, commit: work.commit, ...said('') });
      const cancel = () =>
        farm.tx((tx) => farm.teams.tasks.control(tx, { principal: person }, { task_id: task, action_id }));
      const [one, two] = exitFirst ? [exit, cancel] : [cancel, exit];
      const outcomes = await inTurn(farm, task, one, two);
      expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
      const ends = (await farm.eventTypes(task)).filter((type) => /command_run_(succeeded|cancelled)/.test(type));
      expect(ends).toEqual([exitFirst ? 'command_run_succeeded' : 'command_run_cancelled']);
      expect(await farm.view(task)).toMatchObject({
        status: 'cancelled',
        result: null,
        rescues: exitFirst ? [] : [{ commit: work.commit }],
      });
      expect(await headOf(task)).toBe(exitFirst ? work.commit : before);
      expect(await farm.sql(`select 1 from dispatch where task = '${task}' and closed_at is null`)).toEqual([]);
    }
  });

  it('D15 waits for the machine on which its member worked, while that takes work, a minute at most', async () => {
    const gone = await asked();
    const south = gone.worker('south');
    await expect(south.claim()).rejects.toThrow('nothing to claim');
    await farm.teams.sweeps.freeRuns(['north']);
    await expect(south.claim()).rejects.toThrow('nothing to claim');
    await farm.teams.sweeps.freeRuns(['south']);
    expect((await south.claim()).kind).toBe('command_run');

    const full = await asked();
    await farm.time.pass(limits.commandWarmMs - 5_000);
    await expect(full.worker('south').claim()).rejects.toThrow('nothing to claim');
    await farm.time.pass(5_000);
    expect((await full.worker('south').claim()).kind).toBe('command_run');
  });

  it('D15 calls a command that two machines lost before its start a failed launch, and its member goes on', async () => {
    const { task, north, worker } = await asked();
    for (const machine of [north, worker('south')]) {
      await machine.beat(await machine.claim(), 'preparing');
      await farm.time.pass(leaseTime);
      await farm.queue.sweep();
      await farm.time.pass(60_000);
    }
    expect(await runOf(task)).toMatchObject({ state: 'failed', failure_code: 'command_launch_failed' });
    expect(await results(task)).toHaveLength(1);
  });

  it('H6 finds its line where it began: a pack of another lease or another base moves nothing', async () => {
    const { task, north } = await asked();
    const before = await headOf(task);
    const command = await north.begin();
    const stranger = north.complete(command, 'exited', { exit_code: 0, commit: before });
    await expect(stranger).rejects.toMatchObject({ code: 'commit_refused' });
    await north.complete(command, 'exited', { exit_code: 0 });
    expect(await headOf(task)).toBe(before);
  });
});

async function pause(task: string): Promise<void> {
  await farm.tx(async (tx) => {
    await pauseTask(
      { queue: () => farm.queue, bell: { ring: () => undefined, listen: () => () => undefined } },
      tx,
      await lockTask(tx, task),
      { reason: 'paused_by_operator', detail: 'A person paused it.' },
    );
  });
}
