import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { inflateSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { limits } from '#contracts';
import { openStore, readFileAt } from '#git';
import { inTurn } from '../../../../test/support/in-turn.js';
import { plainGit } from '../../../../test/support/repositories.js';
import { aTeamFarm, leaseTime, type TeamFarm } from '../../../../test/support/team-farm.js';

let farm: TeamFarm;
beforeAll(async () => {
  farm = await aTeamFarm();
  await farm.workflow('trio', { children: [{ id: 'a' }, { id: 'b' }, { id: 'c' }] });
  await farm.workflow('duo', { children: [{ id: 'a' }, { id: 'b' }] });
  await farm.workflow('wide', { children: Array.from({ length: 9 }, (_, n) => ({ id: `m${n}` })) });
  await farm.workflow('deep', { children: [{ id: 'mid', children: [{ id: 'leaf' }] }] });
});
afterAll(() => farm.close());

type Alone = Awaited<ReturnType<TeamFarm['alone']>>;
type Lease = Awaited<ReturnType<ReturnType<Alone['worker']>['begin']>>;

const green = { summary: 'Done', outcome: 'green' } as const;
const blocked = { summary: 'No way', outcome: 'blocked' } as const;
const memberOf = (lease: Lease): string => {
  const { payload } = lease;
  if (typeof payload !== 'object' || payload === null || !('member_id' in payload)) throw new Error('no payload');
  return String(payload.member_id);
};

/** The lead has given work to these children; their leases, by name. */
async function aWave(names: readonly string[], workflow = 'trio') {
  const { task, worker } = await farm.alone({ workflow_id: workflow });
  const north = worker('north');
  const lead = await north.begin();
  const assignments = names.map((child_id) => ({ child_id, prompt: `Do the part of ${child_id}` }));
  await north.handOverBy(lead, (callId) => north.delegate(lead, { assignments }, callId));
  const leases = new Map<string, Lease>();
  for (const _ of names) {
    const lease = await north.begin();
    leases.set(memberOf(lease), lease);
  }
  const of = (name: string): Lease => {
    const lease = leases.get(name);
    if (!lease) throw new Error(`no lease of ${name}`);
    return lease;
  };
  return { task, worker, north, lead, of };
}

const rows = <Row = Readonly<Record<string, unknown>>>(text: string) => farm.sql<Row>(text);
const counters = async (task: string) =>
  (
    await rows(`select (select children_used from assignment where task = '${task}' and parent is null) as used,
      (select count(*) from wave where task = '${task}') as waves,
      (select count(*) from wave_member m join wave w on w.id = m.wave where w.task = '${task}') as members,
      (select count(*) from assignment where task = '${task}') as assignments,
      (select count(*) from dispatch where task = '${task}') as dispatches`)
  )[0];
/** Merge commits that are in no store yet. */
function mergesInQuarantine(task: string): readonly string[] {
  const quarantine = join(farm.data, 'tasks', task, 'store.git/quarantine');
  const files = readdirSync(quarantine, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files
    .filter(({ parentPath }) => /objects\/[0-9a-f]{2}$/.test(parentPath))
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => inflateSync(readFileSync(path)).toString().includes('\n\nMerge the work of '))
    .map((path) => path.slice(-41).replace('/', ''))
    .sort();
}
const alone = { used: 0, waves: 0, members: 0, assignments: 1, dispatches: 1 };

describe('what people are shown of a team at work', () => {
  it('I24 names no Dispatch, Assignment, Wave or lease, from its first turn to its Result, with steering and what was kept', async () => {
    const { task, worker, north, of } = await aWave(['a', 'b'], 'duo');
    const shown: unknown[] = [await farm.view(task)];
    shown.push(await farm.steer(task, 'b', 'Mind the gap.'));
    await north.acknowledge(of('b'), { seq: 1, outcome: 'delivered' });
    const lost = of('a');
    const late = await north.work(lost, { 'late.txt': 'late\n' });
    await farm.time.pass(leaseTime + 1);
    await farm.queue.sweep();
    await north.upload(lost, late);
    const south = worker('south');
    for (const _ of ['a', 'b']) await south.handOver(await south.begin(), green);
    shown.push(await farm.view(task));
    await farm.teams.sweeps.joinWaves();
    await farm.time.pass(limits.preferMs + 1);
    await south.handOver(await south.begin(), green);
    shown.push(await farm.view(task));
    const search = { query: task, limit: 5 };
    shown.push(await farm.database.reading((tx) => farm.teams.tasks.search(tx, search)));
    const ids = await rows<{ id: string }>(`select id::text from assignment where task = '${task}'
      union select id::text from dispatch where task = '${task}' union select id::text from wave where task = '${task}'
      union select l.lease_id::text from lease l join dispatch d on d.id = l.job where d.task = '${task}'`);
    expect(ids.length).toBeGreaterThan(8);
    expect((await farm.view(task)).rescues).toHaveLength(1);
    expect(ids.filter(({ id }) => JSON.stringify(shown).includes(id))).toEqual([]);
  });
});

describe('a Wave', () => {
  it('M4 Q2 D21 gives work to children side by side, joins when all have reported, and the lead goes on with what they did', async () => {
    const { task, north, of } = await aWave(['a', 'b'], 'duo');
    expect(await counters(task)).toEqual({ used: 2, waves: 1, members: 2, assignments: 3, dispatches: 3 });
    await north.handOver(of('b'), { ...green, summary: 'B is done' }, { 'b.txt': 'b\n' });
    expect(await farm.teams.sweeps.joinWaves()).not.toContain(task);
    await north.handOver(of('a'), { ...green, summary: 'A is done' }, { 'a.txt': 'a\n' });
    expect(await farm.teams.sweeps.joinWaves()).toContain(task);

    const lead = await north.begin();
    const { continuation } = await north.context(lead);
    expect(continuation).toMatchObject({
      kind: 'delegation_wave_settled',
      members: [
        { child_id: 'a', outcome: 'green', checkpoint: { summary: 'A is done' }, merge: { outcome: 'merged' } },
        { child_id: 'b', outcome: 'green', checkpoint: { summary: 'B is done' }, merge: { outcome: 'merged' } },
      ],
    });
    await north.handOver(lead, green);
    const view = await farm.view(task);
    expect(view).toMatchObject({ status: 'completed', result: { outcome: 'green' } });
    expect(view.result?.files_changed.map(({ path }) => path).sort()).toEqual(['a.txt', 'b.txt']);
  });

  it('D21 is merged from its first place on while others are at work, and any controller makes the same of it', async () => {
    const { task, north, of } = await aWave(['a', 'b', 'c']);
    const [wave] = await rows<{ id: string }>(`select id from wave where task = '${task}'`);
    const here = farm.another();
    const lookAhead = () => here.teams.sweeps.mergeAhead(wave?.id ?? '');
    await north.handOver(of('b'), green, { 'b.txt': 'b\n' });
    await lookAhead();
    expect(mergesInQuarantine(task)).toEqual([]);
    await north.handOver(of('a'), green, { 'a.txt': 'a\n' });
    await Promise.all([lookAhead(), lookAhead()]);
    const ahead = mergesInQuarantine(task);
    expect(ahead).toHaveLength(2);
    await north.handOver(of('c'), green, { 'c.txt': 'c\n' });
    await lookAhead();
    expect(mergesInQuarantine(task)).toEqual(ahead);

    // one that does not know of it makes the same commits
    expect(await farm.teams.sweeps.joinWaves()).toContain(task);
    const merged = await rows<{ commit: string }>(
      `select merge ->> 'commit' as commit from wave_member where wave = '${wave?.id}' order by position`,
    );
    expect(merged.map(({ commit }) => commit)).toEqual(expect.arrayContaining([...ahead]));
    await here.teams.close();
    expect(mergesInQuarantine(task)).toEqual([]);
  });

  it.each([
    ['where the first part was merged ahead', async () => {}],
    [
      'also where what was merged ahead is lost',
      async (task: string) => {
        const quarantine = join(farm.data, 'tasks', task, 'store.git/quarantine');
        for (const name of readdirSync(quarantine)) rmSync(join(quarantine, name), { recursive: true });
      },
    ],
  ])('D20 D21 is whole and pinned at its end %s', async (_, lose) => {
    const { task, north, of } = await aWave(['a', 'b'], 'duo');
    const [wave] = await rows<{ id: string }>(`select id from wave where task = '${task}'`);
    await north.handOver(of('a'), green, { 'a.txt': 'a\n' });
    await farm.teams.sweeps.mergeAhead(wave?.id ?? '');
    expect(mergesInQuarantine(task)).toHaveLength(1);
    await lose(task);
    await north.handOver(of('b'), green, { 'b.txt': 'b\n' });
    expect(await farm.teams.sweeps.joinWaves()).toContain(task);
    expect(mergesInQuarantine(task)).toEqual([]);
    const [line] = await rows<{ line_head: string }>(
      `select line_head from assignment where task = '${task}' and parent is null`,
    );
    const pins = join(farm.data, 'tasks', task, 'store.git/refs/longshore/accepted', wave?.id ?? '', '0');
    expect(readdirSync(pins)).toEqual([line?.line_head]);
    await north.handOver(await north.begin(), green);
    const { result } = await farm.view(task);
    expect(result?.files_changed.map(({ path }) => path).sort()).toEqual(['a.txt', 'b.txt']);
  });

  it('D8 stays open where its Task is paused before the join is written, and is joined after Resume', async () => {
    const { task, north, of } = await aWave(['a'], 'duo');
    await north.handOver(of('a'), green, { 'a.txt': 'a' });
    const waves = () => rows<{ status: string }>(`select status from wave where task = '${task}'`);
    const pause = () => farm.control(task, 'pause');
    const [, join] = await inTurn(farm, task, pause, () => farm.teams.sweeps.joinWaves());
    expect(join).toMatchObject({ status: 'fulfilled', value: expect.not.arrayContaining([task]) });
    expect(await waves()).toEqual([{ status: 'open' }]);
    await farm.control(task, 'resume');
    expect(await farm.teams.sweeps.joinWaves()).toContain(task);
    expect(await waves()).toEqual([{ status: 'settled' }]);
  });

  it('D21 is joined beside others: one that is over clears up after itself alone', async () => {
    const [short, long] = [await aWave(['a'], 'duo'), await aWave(['a', 'b', 'c'])];
    for (const name of ['a', 'b', 'c']) await long.north.handOver(long.of(name), green, { [`${name}.txt`]: name });
    await short.north.handOver(short.of('a'), green, { 'a.txt': 'a' });
    const joined = await farm.teams.sweeps.joinWaves();
    expect(joined).toEqual(expect.arrayContaining([short.task, long.task]));
  });

  it('I13 tells the reports in the order of the request, whoever was first', async () => {
    const { task, north, of } = await aWave(['c', 'a', 'b']);
    for (const name of ['b', 'a', 'c']) await north.handOver(of(name), { ...green, summary: `From ${name}` });
    await farm.teams.sweeps.joinWaves();
    const { continuation } = await north.context(await north.begin());
    expect(continuation).toMatchObject({ members: [{ child_id: 'c' }, { child_id: 'a' }, { child_id: 'b' }] });
    expect(await farm.eventTypes(task)).toContain('wave_settled');
  });

  it('I10 R25 is given whole or not at all, and a refusal changes no counter', async () => {
    const { task, worker } = await farm.alone({ workflow_id: 'trio' });
    const north = worker('north');
    const lead = await north.begin();
    const ask = (...names: readonly string[]) =>
      north.delegate(lead, { assignments: names.map((child_id) => ({ child_id, prompt: 'Do it' })) });
    await expect(ask('a', 'nobody')).rejects.toMatchObject({
      code: 'illegal_target_relation',
      fields: [{ path: '/assignments/1/child_id', rule: 'direct_child' }],
    });
    await rows(`update assignment set children_used = children_limit - 1 where task = '${task}'`);
    await expect(ask('a', 'b')).rejects.toMatchObject({ code: 'budget_exhausted' });
    await rows(`update assignment set children_used = 0 where task = '${task}'`);
    expect(await counters(task)).toEqual(alone);
    await expect(ask('a', 'a')).rejects.toThrow();
    // The same lead, still at its Dispatch, may ask for what it may have.
    await expect(ask('a')).resolves.toEqual({ accepted: true, members: [{ child_id: 'a' }], must_stop: true });
    expect(await counters(task)).toEqual(alone);
  });

  it('I10 R25 D1 is refused whole when the budget is gone as its work arrives', async () => {
    const { task, worker } = await farm.alone({ workflow_id: 'trio' });
    const north = worker('north');
    const lead = await north.begin();
    const callId = randomUUID();
    const assignments = ['a', 'b'].map((child_id) => ({ child_id, prompt: 'Do it' }));
    await north.delegate(lead, { assignments }, callId);
    const left = (count: number) =>
      rows(`update assignment set children_used = children_limit - ${count} where task = '${task}' and parent is null`);
    await left(1);
    await expect(north.complete(lead, 'handover', { handover: { call_id: callId } })).rejects.toMatchObject({
      code: 'handover_refused',
      detail: expect.stringContaining('budget_exhausted'),
    });
    await left(limits.childAssignmentsPerAssignment);
    expect(await counters(task)).toEqual(alone);
    // With a Wave that it may have it goes on.
    await north.handOverBy(lead, (id) => north.delegate(lead, { assignments }, id));
    expect(await counters(task)).toEqual({ used: 2, waves: 1, members: 2, assignments: 3, dispatches: 3 });
  });

  it('I10 is undone whole when it breaks off half-way, and comes about once after it', async () => {
    const { task, worker } = await farm.alone({ workflow_id: 'trio' });
    const north = worker('north');
    const lead = await north.begin();
    const callId = randomUUID();
    const assignments = ['a', 'b'].map((child_id) => ({ child_id, prompt: 'Do it' }));
    await north.delegate(lead, { assignments }, callId);
    const { mend } = await farm.breakAt(task, 'dispatch_opened');
    const end = () => north.complete(lead, 'handover', { handover: { call_id: callId } });
    await expect(end()).rejects.toThrow('broken off');
    expect(await counters(task)).toEqual(alone);
    await mend();
    await end();
    expect(await counters(task)).toEqual({ used: 2, waves: 1, members: 2, assignments: 3, dispatches: 3 });
  });

  it('I22 names files that its work holds, or is refused by the place of the one that it does not', async () => {
    const { task, worker } = await farm.alone({ workflow_id: 'trio' });
    const north = worker('north');
    const lead = await north.begin();
    const work = await north.work(lead, { 'plan.md': 'plan\n', 'folder/a.md': 'a\n' });
    await north.upload(lead, work);
    const ask = async (path: string) => {
      const callId = randomUUID();
      const assignments = [
        { child_id: 'b', prompt: 'Do it' },
        { child_id: 'a', prompt: 'Do it', files: [{ path }] },
      ];
      await north.delegate(lead, { assignments }, callId);
      return north.complete(lead, 'handover', { handover: { call_id: callId }, commit: work.commit });
    };
    for (const path of ['nowhere.md', 'folder'])
      await expect(ask(path)).rejects.toMatchObject({
        code: 'handover_refused',
        detail: expect.stringContaining('invalid_task_path'),
      });
    expect(await counters(task)).toEqual(alone);
    await ask('plan.md');
    const children = [await north.begin(), await north.begin()];
    const files = await Promise.all(children.map(async (lease) => (await north.context(lease)).assignment.files));
    expect(files).toEqual(expect.arrayContaining([[], [{ path: 'plan.md' }]]));
  });

  it('I10 H1 writes none of it where the work never arrives', async () => {
    const { task, worker } = await farm.alone({ workflow_id: 'trio' });
    const north = worker('north');
    const lead = await north.begin();
    await north.delegate(lead, { assignments: [{ child_id: 'a', prompt: 'Do it' }] });
    await farm.time.pass(leaseTime);
    await farm.queue.sweep();
    expect(await counters(task)).toEqual(alone);
    const again = await worker('south').begin();
    expect(again).toMatchObject({ id: lead.id, epoch: 2 });
  });

  it('R26 may have as many members as the limit says, and one more is refused', async () => {
    const most = Array.from({ length: limits.waveMembers }, (_, n) => `m${n}`);
    const { task } = await aWave(most, 'wide');
    expect(await counters(task)).toMatchObject({ waves: 1, members: limits.waveMembers });
    const { worker } = await farm.alone({ workflow_id: 'wide' });
    const south = worker('south');
    const lead = await south.begin();
    const tooMany = [...most, 'm8'].map((child_id) => ({ child_id, prompt: 'Do it' }));
    await expect(south.delegate(lead, { assignments: tooMany })).rejects.toThrow('<=8');
  });

  it('N4 come to twenty Assignments of one in all, over any number of Waves, and one more is refused', async () => {
    const { task, worker } = await farm.alone({ workflow_id: 'wide' });
    const north = worker('north');
    const most = limits.childAssignmentsPerAssignment;
    let lead = await north.begin();
    const ask = (count: number, callId: string = randomUUID()) => {
      const assignments = Array.from({ length: count }, (_, n) => ({ child_id: `m${n}`, prompt: 'Do it' }));
      return north.delegate(lead, { assignments }, callId);
    };
    for (let left = most; left > 0; ) {
      const count = Math.min(left, limits.waveMembers);
      if (count === left && left < limits.waveMembers)
        await expect(ask(count + 1)).rejects.toMatchObject({
          code: 'budget_exhausted',
          fields: [{ path: '/assignments', rule: `max:${left}` }],
        });
      await north.handOverBy(lead, (callId) => ask(count, callId));
      for (let n = 0; n < count; n += 1) await north.handOver(await north.begin(), blocked);
      await farm.teams.sweeps.joinWaves();
      lead = await north.begin();
      left -= count;
    }
    await expect(ask(1)).rejects.toMatchObject({ code: 'budget_exhausted' });
    expect(await counters(task)).toMatchObject({ used: most, assignments: 1 + most, waves: 3 });
  });

  it('is not for members without a team, nor for a child that is at work', async () => {
    const { north, of } = await aWave(['a']);
    await expect(
      north.delegate(of('a'), { assignments: [{ child_id: 'b', prompt: 'You do it' }] }),
    ).rejects.toMatchObject({ code: 'illegal_caller' });
  });

  it('I9 Q3 is settled by a child that is blocked, which proves nothing: green is refused and blocked is not', async () => {
    const { task, north, of } = await aWave(['a', 'b']);
    await north.handOver(of('a'), green, { 'a.txt': 'a\n' });
    await north.handOver(of('b'), blocked, { 'b.txt': 'half\n' });
    await farm.teams.sweeps.joinWaves();
    const lead = await north.begin();
    const context = await north.context(lead);
    expect(context.continuation).toMatchObject({
      members: [
        { child_id: 'a', merge: { outcome: 'merged' } },
        {
          child_id: 'b',
          outcome: 'blocked',
          merge: { outcome: 'skipped', branch: expect.stringMatching(/^longshore\/b-/) },
        },
      ],
    });
    expect(context.direct_team).toMatchObject([
      { id: 'a', participation: 'satisfied', availability: 'available' },
      { id: 'b', participation: 'required', availability: 'available' },
      { id: 'c', participation: 'required' },
    ]);
    await expect(north.checkpoint(lead, green)).rejects.toMatchObject({
      code: 'boundary_precondition_failed',
      detail: expect.stringContaining('b, c'),
    });
    await north.handOver(lead, blocked);
    expect(await farm.view(task)).toMatchObject({ status: 'completed', result: { outcome: 'blocked' } });
  });

  it('Q3 after a blocked child the parent gives the work again or takes the child out of the team, and may be green', async () => {
    const { task, north, of } = await aWave(['a', 'b'], 'duo');
    await north.handOver(of('a'), blocked);
    await north.handOver(of('b'), blocked);
    await farm.teams.sweeps.joinWaves();
    const lead = await north.begin();
    await north.handOverBy(lead, (callId) =>
      north.delegate(lead, { assignments: [{ child_id: 'b', prompt: 'Once more' }] }, callId),
    );
    await north.handOver(await north.begin(), green);
    await farm.teams.sweeps.joinWaves();
    const second = await north.begin();
    await expect(north.checkpoint(second, green)).rejects.toMatchObject({
      detail: expect.stringContaining('missing: a.'),
    });
    await north.handOverBy(second, (callId) => north.removeChild(second, 'a', callId));
    await north.handOver(await north.begin(), green);
    expect(await farm.view(task)).toMatchObject({ status: 'completed', result: { outcome: 'green' } });
  });

  it('I9 is not settled by a retry: the child tries again, and its place stays', async () => {
    const { task, north, of } = await aWave(['a']);
    await north.handOver(of('a'), { summary: 'Wrong way', outcome: 'retry' });
    expect(await farm.teams.sweeps.joinWaves()).not.toContain(task);
    await north.handOver(await north.begin(), green);
    expect(await farm.teams.sweeps.joinWaves()).toContain(task);
  });

  it('Q4 may be followed by another to the same child: a fresh Assignment, and what was proven stays proven', async () => {
    const { north, of } = await aWave(['a']);
    await north.handOver(of('a'), green);
    await farm.teams.sweeps.joinWaves();
    const lead = await north.begin();
    await north.handOverBy(lead, (callId) =>
      north.delegate(lead, { assignments: [{ child_id: 'a', prompt: 'Once more' }] }, callId),
    );
    const second = await north.begin();
    expect((await north.context(second)).assignment.prompt).toBe('Once more');
    await north.handOver(second, blocked);
    await farm.teams.sweeps.joinWaves();
    const [a] = (await north.context(await north.begin())).direct_team;
    expect(a).toMatchObject({ id: 'a', participation: 'satisfied' });
  });

  it('names the files of a conflict, keeps the branch, and stops no sibling', async () => {
    const { task, north, of } = await aWave(['a', 'b', 'c']);
    await north.handOver(of('a'), green, { 'same.txt': 'from a\n' });
    await north.handOver(of('b'), green, { 'same.txt': 'from b\n' });
    await north.handOver(of('c'), green, { 'c.txt': 'c\n' });
    await farm.teams.sweeps.joinWaves();
    const lead = await north.begin();
    expect((await north.context(lead)).continuation).toMatchObject({
      members: [
        { merge: { outcome: 'merged' } },
        { merge: { outcome: 'conflict', files: ['same.txt'], branch: expect.stringMatching(/^longshore\/b-/) } },
        { merge: { outcome: 'merged' } },
      ],
    });
    expect(lead.payload).toMatchObject({ branches: [{ branch: expect.stringMatching(/^longshore\/b-/) }] });
    const [line] = await rows<{ line_head: string }>(
      `select line_head from assignment where task = '${task}' and parent is null`,
    );
    const store = await openStore(join(farm.data, 'tasks', task, 'store.git'));
    const kept = await readFileAt(store, line?.line_head ?? '', 'same.txt');
    expect(kept.toString()).toBe('from a\n');
  });

  it('R10 D21 is joined once, however many controllers look at the same moment', async () => {
    const { task, north, of } = await aWave(['a', 'b']);
    await north.handOver(of('a'), green, { 'a.txt': 'a\n' });
    await north.handOver(of('b'), green, { 'b.txt': 'b\n' });
    const controllers = [farm.teams, farm.another().teams, farm.another().teams];
    await Promise.all([...controllers, ...controllers].map((teams) => teams.sweeps.joinWaves()));
    await farm.teams.sweeps.joinWaves();
    const successors = await rows(`select 1 from dispatch where task = '${task}' and reason = 'delegation_wave'`);
    expect(successors).toHaveLength(1);
  });

  it.each(['wave_settled', 'dispatch_opened'])(
    'H6 D21 is begun again where controllers die as it writes %s: one head of the line, each child merged once',
    async (step) => {
      const { task, north, of } = await aWave(['a', 'b'], 'duo');
      await north.handOver(of('a'), green, { 'a.txt': 'a\n' });
      await north.handOver(of('b'), green, { 'b.txt': 'b\n' });
      const lineOf = async () =>
        (
          await rows<{ head: string; base: string }>(
            `select line_head as head, line_base as base from assignment where task = '${task}' and parent is null`,
          )
        )[0];
      const before = await lineOf();
      const controllers = [farm.teams, farm.another().teams, farm.another().teams];
      const joinAll = () => Promise.all(controllers.map((teams) => teams.sweeps.joinWaves()));
      const { mend } = await farm.breakAt(task, step);
      for (let deaths = 0; deaths < 2; deaths += 1) expect((await joinAll()).flat()).not.toContain(task);
      expect(await lineOf()).toEqual(before);
      expect(await rows(`select status from wave where task = '${task}'`)).toEqual([{ status: 'open' }]);
      await mend();
      expect((await joinAll()).flat().filter((joined) => joined === task)).toEqual([task]);
      const after = await lineOf();
      const store = await openStore(join(farm.data, 'tasks', task, 'store.git'));
      const merges = plainGit(store.dir, ['log', '--merges', '--format=%s', `${before?.base}..${after?.head}`]);
      expect(merges.split('\n').sort()).toEqual(['Merge the work of a', 'Merge the work of b']);
      expect(await rows(`select 1 from dispatch where task = '${task}' and reason = 'delegation_wave'`)).toHaveLength(
        1,
      );
    },
  );

  it.each([
    ['before', true],
    ['after', false],
  ])(
    'R8 D8 is joined after Resume where its last child reported %s the pause and nobody had joined it',
    async (_, early) => {
      const { task, north, of } = await aWave(['a']);
      const callId = randomUUID();
      await north.checkpoint(of('a'), green, callId);
      const report = () => north.complete(of('a'), 'handover', { handover: { call_id: callId } });
      if (early) await report();
      await farm.control(task, 'pause');
      if (!early) await report();
      expect(await farm.teams.sweeps.joinWaves()).not.toContain(task);
      await farm.control(task, 'resume');
      expect(await rows(`select 1 from dispatch where task = '${task}' and closed_at is null`)).toEqual([]);
      expect(await farm.teams.sweeps.joinWaves()).toContain(task);
      await north.handOver(await north.begin(), blocked);
      expect(await farm.view(task)).toMatchObject({ status: 'completed' });
    },
  );

  it('R9 I15 leaves nothing open behind a cancel', async () => {
    const { task, north, of } = await aWave(['a', 'b']);
    await north.handOver(of('a'), green);
    await farm.control(task, 'cancel');
    expect(await rows(`select status from wave where task = '${task}'`)).toEqual([{ status: 'cancelled' }]);
    expect(
      await rows(
        `select m.status from wave_member m join wave w on w.id = m.wave where w.task = '${task}' order by position`,
      ),
    ).toEqual([{ status: 'settled' }, { status: 'cancelled' }]);
    await farm.time.pass(leaseTime);
    await farm.queue.sweep();
    expect(await farm.teams.sweeps.joinWaves()).not.toContain(task);
    expect(await rows(`select 1 from dispatch where task = '${task}' and closed_at is null`)).toEqual([]);
  });

  it('R12 keeps its place for a child that does not start at once and whose machine dies then: it reports once', async () => {
    const { task, worker } = await farm.alone({ workflow_id: 'trio' });
    const north = worker('north');
    const lead = await north.begin();
    const assignments = ['a', 'b'].map((child_id) => ({ child_id, prompt: 'Do it' }));
    await north.handOverBy(lead, (callId) => north.delegate(lead, { assignments }, callId));
    const refused = await north.claim();
    await north.fail(refused, 'provider_start');
    await farm.time.pass(limits.startAttempts * 1000);
    const lost = [await north.begin(), await north.begin()];
    expect(lost.find(({ id }) => id === refused.id)).toMatchObject({ epoch: 2 });
    await farm.time.pass(leaseTime);
    await farm.queue.sweep();
    const south = worker('south');
    for (const _ of lost) {
      const lease = await south.begin();
      expect(lost.map(({ id }) => id)).toContain(lease.id);
      const before = lost.find(({ id }) => id === lease.id);
      if (before) await expect(north.handOver(before, green)).rejects.toMatchObject({ code: 'stale_lease' });
      expect(await farm.teams.sweeps.joinWaves()).not.toContain(task);
      await south.handOver(lease, green);
    }
    expect(await farm.teams.sweeps.joinWaves()).toContain(task);
    expect((await north.context(await north.begin())).continuation).toMatchObject({
      members: [
        { child_id: 'a', outcome: 'green' },
        { child_id: 'b', outcome: 'green' },
      ],
    });
  });

  it('D4 I26 pauses the Task when none of its children can go on, and Resume gives the child new tries', async () => {
    const { task, north, of } = await aWave(['a']);
    await north.fail(of('a'), 'capture_failed', false);
    expect(await farm.view(task)).toMatchObject({ status: 'paused' });
    await farm.control(task, 'resume');
    const child = await north.begin();
    expect(memberOf(child)).toBe('a');
    await north.handOver(child, green);
    expect(await farm.teams.sweeps.joinWaves()).toContain(task);
  });

  it('nests: each line starts at its parent’s accepted head, and comes back by the same way', async () => {
    const { task, north, of } = await aWave(['mid'], 'deep');
    const mid = of('mid');
    await north.handOverBy(
      mid,
      (callId) => north.delegate(mid, { assignments: [{ child_id: 'leaf', prompt: 'The leaf' }] }, callId),
      { files: { 'mid.txt': 'mid\n' } },
    );
    const leaf = await north.begin();
    const work = await north.work(leaf, { 'leaf.txt': 'leaf\n' });
    await north.upload(leaf, work);
    await north.handOver(leaf, green, { 'leaf.txt': 'leaf\n' });
    await farm.teams.sweeps.joinWaves();
    await north.handOver(await north.begin(), green);
    await farm.teams.sweeps.joinWaves();
    await north.handOver(await north.begin(), green);
    const { result } = await farm.view(task);
    expect(result?.files_changed.map(({ path }) => path).sort()).toEqual(['leaf.txt', 'mid.txt']);
  });
});
