import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { limits, OutputFrom, utf8Length } from '#contracts';
import { aTeamFarm, person, type TeamFarm } from '../../../../test/support/team-farm.js';
import { lockTask } from '../task/lock-task.js';
import { pauseTask } from '../task/pause-task.js';

let farm: TeamFarm;
beforeAll(async () => {
  farm = await aTeamFarm();
  await farm.workflow('builder', { title: 'The builder', capabilities: { command_run: 'allow' } });
});
afterAll(() => farm.close());

/** The lead has its command run. */
async function asked() {
  const { task, worker } = await farm.alone({ workflow_id: 'builder' });
  const north = worker('north');
  const lease = await north.begin();
  let name = '';
  await north.handOverBy(lease, async (callId) => {
    const run = { command: { kind: 'argv' as const, argv: ['make'] }, summary: 'Build it' };
    name = (await north.run(lease, run, callId)).command_id;
  });
  return { task, worker, north, name };
}
type Asked = Awaited<ReturnType<typeof asked>>;

const viewOf = ({ task, name }: Asked) =>
  farm.database.reading((tx) => farm.teams.commands.get(tx, { task_id: task, command_id: name }));
const read = ({ task, name }: Asked, more: { cursor?: string; limit?: number } = {}) =>
  farm.teams.commands.readOutput({ task_id: task, command_id: name, limit: 65_536, ...more });

/** All pages from the beginning to where there is no more now. */
async function pages(of: Asked, limit: number) {
  const all: Awaited<ReturnType<typeof read>>[] = [];
  for (let cursor: string | undefined; all.length < 2_000; ) {
    const page = await read(of, { limit, ...(cursor !== undefined && { cursor }) });
    all.push(page);
    cursor = page.next_cursor ?? undefined;
    if (!page.is_bounded) break;
  }
  return all;
}

describe('a command, as people see it', () => {
  it('O16 I24 is shown with how it stands and what may be done, listed in its Task, and nowhere else', async () => {
    const run = await asked();
    const { task, north, name } = run;
    expect(await viewOf(run)).toMatchObject({
      command_id: name,
      purpose: 'member',
      member: { id: 'lead', name: 'The builder' },
      command: { kind: 'argv', argv: ['make'] },
      status: 'queued',
      output: null,
      actions: [{ kind: 'cancel' }],
    });
    const command = await north.begin();
    expect((await farm.view(task)).command_runs).toMatchObject([
      { command_id: name, status: 'running', ended_at: null },
    ]);
    const output = { observed_bytes: 4, written_bytes: 4, complete: true };
    await north.complete(command, 'exited', { exit_code: 2, tail: 'no\n', output });
    const ended = await viewOf(run);
    expect(ended).toMatchObject({
      status: 'failed',
      status_message: 'It ended with 2.',
      exit_code: 2,
      failure_code: 'command_nonzero_exit',
      output,
      tail: 'no\n',
      actions: [],
    });
    expect(JSON.stringify(ended)).not.toMatch(/dispatch|assignment|epoch/);
    const other = await asked();
    await expect(viewOf({ ...run, task: other.task })).rejects.toMatchObject({ code: 'not_found' });
  });

  it('O18 I16 is cancelled by an action that still holds: at once where nobody has it, and its member goes on', async () => {
    const run = await asked();
    const { task, north, name } = run;
    const [action] = (await viewOf(run)).actions;
    await expect(farm.cancelCommand(task, name, 'action.0')).rejects.toMatchObject({ code: 'conflict' });
    const twins = await Promise.allSettled([1, 2, 3].map(() => farm.cancelCommand(task, name, action?.id)));
    expect(twins.filter(({ status }) => status === 'fulfilled')).toMatchObject([
      { value: { command_id: name, status: 'cancelled', continuation_pending: false } },
    ]);
    const next = await north.begin();
    expect((await north.context(next)).continuation).toMatchObject({
      kind: 'command_result',
      terminal: { state: 'cancelled', source: 'operator', actor: person, complete: false },
    });
  });

  it('O18 is ended by its machine where one has it; what it changed is its member’s', async () => {
    const run = await asked();
    const { task, north, name } = run;
    const queued = (await viewOf(run)).actions[0]?.id;
    const command = await north.begin();
    await expect(farm.cancelCommand(task, name, queued)).rejects.toMatchObject({ code: 'conflict' });
    expect(await farm.cancelCommand(task, name)).toMatchObject({ status: 'cancelling' });
    expect(await viewOf(run)).toMatchObject({ status: 'cancelling', actions: [] });
    expect(await north.beat(command)).toMatchObject({ end: { kind: 'cancel' } });
    const work = await north.work(command, { 'half.txt': 'half\n' });
    await north.upload(command, work);
    await north.complete(command, 'cancelled', { commit: work.commit });
    const next = await north.begin();
    expect(next.payload).toMatchObject({ base: work.commit });
    expect((await farm.view(task)).status).toBe('running');
  });

  it('O18 I14 is cancelled also while its Task is paused, and Resume goes on with that', async () => {
    const { task, north, name } = await asked();
    await farm.tx(async (tx) => {
      const bell = { ring: () => undefined, listen: () => () => undefined };
      const why = { reason: 'paused_by_operator', detail: 'A person paused it.' } as const;
      await pauseTask({ queue: () => farm.queue, bell }, tx, await lockTask(tx, task), why);
    });
    expect(await farm.cancelCommand(task, name)).toMatchObject({ status: 'cancelled', continuation_pending: true });
    await expect(north.claim()).rejects.toThrow('nothing to claim');
    await farm.control(task, 'resume');
    expect((await north.context(await north.begin())).continuation).toMatchObject({ terminal: { state: 'cancelled' } });
  });

  it('O17 is read in pages that no terminal obeys, wherever a page or a segment cuts what it said', async () => {
    const run = await asked();
    const { north } = run;
    const command = await north.begin();
    const said = Buffer.from(
      '\x1b[1;31mnaïve\x1b[0m \x1b]8;;https://x.invalid\x1b\\😀\x1b]8;;\x07 a\r\nb\u202ec\x00 end\n',
    );
    const shown = 'naïve 😀 a\nbc end\n';
    for (const [n, at] of [0, 3, 9].entries()) {
      const part = said.subarray(at, [3, 9, said.length][n]);
      await farm.teams.roads.takeOutput(north.shown(command), n, Readable.from([part]));
    }
    for (const limit of [4, 7, 12, 65_536]) {
      const all = await pages(run, limit);
      expect(all.map(({ text }) => text).join('')).toBe(shown);
      for (const { text } of all) expect(utf8Length(text)).toBeLessThanOrEqual(limit);
    }
    const last = (await pages(run, 65_536)).at(-1);
    // live: there is no more now, and the place to go on from is kept
    expect(last).toMatchObject({ state: 'running', is_bounded: false, output_complete: false });
    await farm.teams.roads.takeOutput(north.shown(command), 3, Readable.from([Buffer.from('more\n')]));
    const bytes = said.length + 5;
    const output = { observed_bytes: bytes, written_bytes: bytes, complete: true };
    await north.complete(command, 'exited', { exit_code: 0, output });
    expect(await read(run, { cursor: last?.next_cursor ?? '' })).toEqual({
      command_id: run.name,
      text: 'more\n',
      state: 'succeeded',
      next_cursor: null,
      is_bounded: false,
      output_complete: true,
      is_missing: false,
      is_changed: false,
    });
  });

  it('N6 O17 shows a page of 65,536 bytes at most, also of bytes that are no text', async () => {
    const run = await asked();
    const { north } = run;
    const command = await north.begin();
    await farm.teams.roads.takeOutput(north.shown(command), 0, Readable.from([Buffer.alloc(300_000, 0xff)]));
    const all = await pages(run, 65_536);
    for (const { text } of all) expect(utf8Length(text)).toBeLessThanOrEqual(65_536);
    const text = all.map((page) => page.text).join('');
    expect([text.length, text.replaceAll('\ufffd', '')]).toEqual([300_000, '']);
  });

  it('O17 refuses a cursor of another command, or of none: it is to be read from the beginning', async () => {
    const [one, other] = [await asked(), await asked()];
    for (const { north } of [one, other]) {
      const command = await north.begin();
      await farm.teams.roads.takeOutput(north.shown(command), 0, Readable.from([Buffer.from('said\n')]));
    }
    const cursor = (await read(one)).next_cursor ?? '';
    const refused = { code: 'cursor_reset_required' };
    await expect(read(other, { cursor })).rejects.toMatchObject(refused);
    await expect(read(one, { cursor: 'bm8' })).rejects.toMatchObject(refused);
    const unstarted = await asked();
    await expect(read(unstarted, { cursor })).rejects.toMatchObject(refused);
    expect(await read(unstarted)).toMatchObject({ text: '', state: 'pending_start', next_cursor: null });
  });

  it('O17 tells on its last page that there is less than had arrived', async () => {
    const run = await asked();
    const command = await run.north.begin();
    await farm.teams.roads.takeOutput(run.north.shown(command), 0, Readable.from([Buffer.from('half')]));
    const output = { observed_bytes: 9, written_bytes: 9, complete: true };
    await run.north.complete(command, 'exited', { exit_code: 0, output });
    expect(await read(run)).toMatchObject({ text: 'half', is_missing: false, is_changed: true });
    const gone = await asked();
    const lease = await gone.north.begin();
    await gone.north.complete(lease, 'exited', { exit_code: 0, output });
    expect(await read(gone)).toMatchObject({ text: '', is_missing: true, is_changed: true });
  });

  it('H29 H17 is read in bytes by the Dispatch that goes on from it, by no other and not past its lease', async () => {
    const run = await asked();
    const { north, name } = run;
    const { roads } = farm.teams;
    const command = await north.begin();
    const said = ['\u001b[31mred', '\u001b[0m\n'].map((text) => Buffer.from(text));
    for (const [n, text] of said.entries()) await roads.takeOutput(north.shown(command), n, Readable.from([text]));
    await expect(roads.commandOutput(north.shown(command), undefined)).rejects.toMatchObject({ code: 'not_available' });
    const bytes = Buffer.concat(said).length;
    const output = { observed_bytes: bytes + 1, written_bytes: bytes, complete: false };
    await north.complete(command, 'exited', { exit_code: 0, output });
    const next = await north.begin();
    expect(next.payload).toMatchObject({ command_output: name });
    const { head, body } = await roads.commandOutput(north.shown(next), undefined);
    expect(await buffer(body)).toEqual(Buffer.concat(said));
    expect(head).toEqual({ next: '1.2.0', is_bounded: false, state: 'succeeded', ended: true, ...output });
    const rest = await roads.commandOutput(north.shown(next), { epoch: 1, segment: 0, offset: 5 });
    expect(await text(rest.body)).toBe('red\u001b[0m\n');
    const elsewhere = { epoch: 2, segment: 0, offset: 0 };
    const reset = { code: 'cursor_reset_required' };
    await expect(roads.commandOutput(north.shown(next), elsewhere)).rejects.toMatchObject(reset);
    const other = (await farm.alone({ workflow_id: 'builder' })).worker('other');
    const first = await other.begin();
    await expect(roads.commandOutput(other.shown(first), undefined)).rejects.toMatchObject({ code: 'not_available' });
    await expect(roads.commandOutput({ ...north.shown(next), job: first.id }, undefined)).rejects.toMatchObject({
      code: 'stale_lease',
    });
    await north.handOver(next, { summary: 'Done', outcome: 'green' });
    await expect(roads.commandOutput(north.shown(next), undefined)).rejects.toMatchObject({ code: 'stale_lease' });
  });

  it('O17 is sent in bytes to people, in answers that are cut at their limit and go on where they were cut', async () => {
    const run = await asked();
    const { roads } = farm.teams;
    const send = (from?: string) =>
      roads.runOutput(run.task, run.name, from === undefined ? undefined : OutputFrom.parse(from));
    expect((await send()).head).toMatchObject({ next: null, is_bounded: false, ended: false });
    const command = await run.north.begin();
    const segment = Buffer.alloc(limits.outputSegmentBytes, 'x');
    const count = limits.outputAnswerBytes / segment.length;
    for (let n = 0; n <= count; n += 1)
      await roads.takeOutput(run.north.shown(command), n, Readable.from([n < count ? segment : Buffer.from('end')]));
    const first = await send();
    expect(first).toMatchObject({ bytes: limits.outputAnswerBytes, head: { is_bounded: true, ended: false } });
    const second = await send(first.head.next ?? '');
    expect(await text(second.body)).toBe('end');
    expect(second.head).toMatchObject({ is_bounded: false, state: 'running' });
    expect(await send(second.head.next ?? '')).toMatchObject({ bytes: 0, head: { next: second.head.next } });
    const elsewhere = (await asked()).task;
    await expect(roads.runOutput(elsewhere, run.name, undefined)).rejects.toMatchObject({ code: 'not_found' });
  });
});
