import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  createReadStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { bundleCheckout } from '#git';
import { aRepository, writeFiles } from '../../../../test/support/repositories.js';
import { aTeamFarm, patience, payloadOf, person, type TeamFarm } from '../../../../test/support/team-farm.js';
import { tempDir } from '../../../../test/support/temp-dir.js';
import { waitUntil } from '../../../../test/support/wait-until.js';

let farm: TeamFarm;
beforeAll(async () => {
  farm = await aTeamFarm();
  await farm.workflow();
});
afterAll(() => farm.close());

async function aCheckout(
  files: Readonly<Record<string, string>> = { 'a.txt': 'a\n' },
  dirty: Readonly<Record<string, string>> = {},
) {
  const dir = aRepository(files);
  writeFiles(dir, dirty);
  const made = await bundleCheckout({ dir, out: join(tempDir('bundle'), 'source.bundle') });
  const source = {
    kind: 'bundle' as const,
    sha256: made.sha256,
    commit: made.base,
    head: made.head,
    dirty: made.dirty,
  };
  return {
    ...made,
    source,
    upload: (by = person) => farm.teams.roads.takeSource(by, made.sha256, createReadStream(made.bundle)),
  };
}

const rootsOf = (task: string) =>
  farm.sql<{ jobs: number; dispatches: number }>(
    `select (select count(*) from job where scope = '${task}') as jobs, (select count(*) from dispatch where task = '${task}') as dispatches`,
  );

describe('a Task that is started', () => {
  it('D19 is preparing until a sweep has made its source ready, then base, team, root Dispatch and job are there', async () => {
    const task = await farm.start({
      prompt: '\n  Mend the parser.  \nIt fails.',
      pool: 'gpu',
      labels: ['os:linux'],
      priority: 5,
    });
    expect(await farm.view(task)).toMatchObject({
      status: 'preparing',
      product_status: 'preparing',
      title: 'Mend the parser.',
    });
    expect(await rootsOf(task)).toEqual([{ jobs: 0, dispatches: 0 }]);

    expect(await farm.teams.sweeps.prepareTasks(patience)).toContain(task);
    expect(await farm.view(task)).toMatchObject({
      status: 'running',
      product_status: 'starting',
      team: [{ member_id: 'lead', parent_id: null, state: 'working' }],
    });
    const [job] = await farm.sql(
      `select kind, scope, pool, labels, priority, fairness_key from job where scope = '${task}'`,
    );
    expect(job).toMatchObject({ kind: 'dispatch', pool: 'gpu', labels: ['os:linux'], priority: 5 });
    expect(await farm.eventTypes(task)).toEqual(['task_started', 'task_prepared', 'dispatch_opened']);
  });

  it('I25 has one root Dispatch, however many controllers prepare it at once', async () => {
    const other = farm.another();
    const task = await farm.start();
    await Promise.all([
      farm.teams.sweeps.prepareTasks(patience),
      other.teams.sweeps.prepareTasks(patience),
      farm.teams.sweeps.prepareTasks(patience),
    ]);
    expect(await rootsOf(task)).toEqual([{ jobs: 1, dispatches: 1 }]);
    expect(await farm.teams.sweeps.prepareTasks(patience)).toEqual([]);
  });

  it('I25 I4 leaves nothing of a beginning that broke off, and begins once after it', async () => {
    const task = await farm.start();
    const { mend } = await farm.breakAt(task, 'dispatch_opened');
    const rung = farm.rings.length;
    expect(await farm.teams.sweeps.prepareTasks(patience)).not.toContain(task);
    expect(farm.troubles).toHaveLength(1);
    expect(await rootsOf(task)).toEqual([{ jobs: 0, dispatches: 0 }]);
    expect(await farm.view(task)).toMatchObject({ status: 'preparing', team: [] });
    expect(farm.rings).toHaveLength(rung);
    await mend();
    await farm.teams.sweeps.prepareTasks(patience);
    expect(await rootsOf(task)).toEqual([{ jobs: 1, dispatches: 1 }]);
  });

  it('I2 has one open Assignment for each member and one current Dispatch for each Assignment, whoever writes', async () => {
    const task = await farm.task();
    const columns = 'task, member, prompt, children_limit, retry_limit, line_base, line_head';
    await expect(
      farm.sql(
        `insert into assignment (id, ${columns}) select gen_random_uuid(), ${columns} from assignment where task = '${task}'`,
      ),
    ).rejects.toThrow('assignment_open');
    const [job] = await farm.sql<{ id: string }>(`select id from job where scope = '${task}'`);
    const other = await farm.task();
    await farm.sql(`update dispatch set closed_at = now(), closed_reason = 'drained' where task = '${other}'`);
    await expect(
      farm.sql(`update dispatch set task = '${task}', caused_by = id, closed_at = null, closed_reason = null,
        assignment = (select assignment from dispatch where id = '${job?.id}') where task = '${other}'`),
    ).rejects.toThrow('dispatch_current');
  });

  it('starts from the checkout that was uploaded, its unfinished work in the base', async () => {
    const checkout = await aCheckout({ 'a.txt': 'a\n' }, { 'b.txt': 'unfinished\n' });
    await checkout.upload();
    const { task, worker } = await farm.alone({ source: checkout.source });
    const [row] = await farm.sql(`select base from task where id = '${task}'`);
    expect(row).toEqual({ base: checkout.base });
    const machine = worker('north');
    const lease = await machine.begin();
    expect(payloadOf(lease).base).toBe(checkout.base);
    await machine.handOver(lease, { summary: 'Done', outcome: 'green' }, { 'c.txt': 'c\n' });
    const { result } = await farm.view(task);
    expect(result).toMatchObject({
      base: checkout.base,
      files_changed: [{ path: 'c.txt', status: 'added', additions: 1 }],
    });
  });

  it('D19 belongs to the principal that uploaded it: another starts nothing from it', async () => {
    const checkout = await aCheckout();
    await checkout.upload('p_00000002');
    await expect(farm.start({ source: checkout.source })).rejects.toMatchObject({ code: 'source_unavailable' });
    await expect(farm.start({ source: checkout.source }, 'p_00000002')).resolves.toBeDefined();
    await farm.teams.sweeps.prepareTasks(patience);
  });

  it('D19 R19 pauses when its source is refused, says why, and Resume tries again', async () => {
    const checkout = await aCheckout();
    const junk = Buffer.from('this is no bundle');
    const sha256 = createHash('sha256').update(junk).digest('hex');
    await farm.teams.roads.takeSource(person, sha256, Readable.from([junk]));
    const task = await farm.start({ source: { ...checkout.source, sha256 } });
    await farm.teams.sweeps.prepareTasks(patience);
    expect(await farm.view(task)).toMatchObject({
      status: 'paused',
      pause_reason: 'source_unavailable',
      attention: [{ kind: 'source_unavailable', summary: 'The file is not a git bundle.' }],
    });
    // Somebody puts the right file there.
    await checkout.upload();
    await farm.sql(
      `update task set source = jsonb_set(source, '{sha256}', '"${checkout.sha256}"') where id = '${task}'`,
    );
    await farm.control(task, 'resume');
    expect(await farm.view(task)).toMatchObject({ status: 'preparing', attention: [] });
    await farm.teams.sweeps.prepareTasks(patience);
    expect(await farm.view(task)).toMatchObject({ status: 'running' });
    expect(await rootsOf(task)).toEqual([{ jobs: 1, dispatches: 1 }]);
    await farm.control(task, 'cancel');
  });

  it('D19 can be cancelled while it is preparing, and then is never begun', async () => {
    const task = await farm.start();
    await farm.control(task, 'cancel');
    await farm.teams.sweeps.prepareTasks(patience);
    expect(await farm.view(task)).toMatchObject({ status: 'cancelled', actions: [], result: null });
    expect(await rootsOf(task)).toEqual([{ jobs: 0, dispatches: 0 }]);
  });

  it('D19 is not begun when the cancel comes while git is at work on its source', async () => {
    const checkout = await aCheckout();
    await checkout.upload();
    const task = await farm.start({ source: checkout.source });
    const cancel = (await farm.view(task)).actions.find(({ kind }) => kind === 'cancel');
    const packs = join(farm.data, 'tasks', task, 'store.git/objects/pack');
    const { promise: preparing, resolve } = Promise.withResolvers<Promise<unknown>>();
    await farm.tx(async (tx) => {
      // Not committed while git works: the preparation does not see it, and meets it at the row of the Task.
      await farm.teams.tasks.control(tx, { principal: person }, { task_id: task, action_id: cancel?.id ?? '' });
      resolve(farm.teams.sweeps.prepareTasks(patience));
      const taken = () => existsSync(packs) && readdirSync(packs).length > 0;
      await waitUntil(taken, { what: 'git has taken the source in' });
    });
    await preparing;
    expect(await farm.view(task)).toMatchObject({ status: 'cancelled' });
    expect(await rootsOf(task)).toEqual([{ jobs: 0, dispatches: 0 }]);
  });

  it('D19 keeps an upload for an hour, and longer only while a Task is still to take it in', async () => {
    const [forgotten, named] = [await aCheckout({ 'x.txt': 'x\n' }), await aCheckout({ 'y.txt': 'y\n' })];
    await forgotten.upload();
    await named.upload();
    const task = await farm.start({ source: named.source });
    expect(await farm.teams.sweeps.expireSources()).toBe(0);
    await farm.sql(
      `update source_upload set uploaded_at = uploaded_at - interval '61 min', named_at = named_at - interval '61 min'`,
    );
    await farm.teams.sweeps.expireSources();
    const left = await farm.sql<{ sha256: string }>('select sha256 from source_upload');
    expect(left).toEqual([{ sha256: named.sha256 }]);
    await farm.teams.sweeps.prepareTasks(patience);
    expect(await farm.view(task)).toMatchObject({ status: 'running' });
    await farm.teams.sweeps.expireSources();
    expect(await farm.sql('select sha256 from source_upload')).toEqual([]);
    await farm.control(task, 'cancel');
  });

  it('D19 leaves nothing of an upload that broke off, after an hour', async () => {
    const part = join(farm.data, 'objects/sources', person, 'half.part');
    mkdirSync(dirname(part), { recursive: true });
    writeFileSync(part, 'half');
    await farm.teams.sweeps.expireSources();
    expect(existsSync(part)).toBe(true);
    const before = new Date(Date.now() - 61 * 60_000);
    utimesSync(part, before, before);
    await farm.teams.sweeps.expireSources();
    expect(existsSync(part)).toBe(false);
  });

  it('D19 goes on while the source of another Task is slow', async () => {
    const checkout = await aCheckout();
    await checkout.upload();
    const slow = await farm.start({ source: checkout.source });
    const objects = join(farm.data, 'objects/sources', person, checkout.sha256);
    // A source that does not come to an end: git reads a pipe that nobody writes.
    rmSync(objects);
    execFileSync('sh', ['-c', 'mkfifo "$0"', objects]);
    expect(await farm.teams.sweeps.prepareTasks(50)).toEqual([]);
    const quick = await farm.start();
    expect(await farm.teams.sweeps.prepareTasks(patience)).toEqual([quick]);
    expect(await farm.view(slow)).toMatchObject({ status: 'preparing' });
    await farm.control(slow, 'cancel');
    writeFileSync(objects, 'no bundle');
    expect(await farm.teams.sweeps.prepareTasks(patience)).toEqual([]);
    expect(await farm.view(slow)).toMatchObject({ status: 'cancelled' });
  });

  it('D19 takes a file only under its own hash, and no more than the quota of its owner', async () => {
    const body = Buffer.from('x');
    const wrong = createHash('sha256').update('y').digest('hex');
    await expect(farm.teams.roads.takeSource(person, wrong, Readable.from([body]))).rejects.toMatchObject({
      code: 'invalid_input',
    });
    await farm.sql(`insert into source_upload (principal, sha256, bytes) values ('p_00000003', 'full', 4294967296)`);
    const right = createHash('sha256').update(body).digest('hex');
    await expect(farm.teams.roads.takeSource('p_00000003', right, Readable.from([body]))).rejects.toMatchObject({
      code: 'too_large',
    });
    await farm.teams.roads.takeSource(person, right, Readable.from([body]));
    expect(readFileSync(join(farm.data, 'objects/sources', person, right))).toEqual(body);
  });

  it('is refused for a workflow that does not exist or has more than one member', async () => {
    await expect(farm.start({ workflow_id: 'nobody' })).rejects.toMatchObject({ code: 'not_found' });
  });
});
