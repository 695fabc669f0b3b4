import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { AccountOffer } from '#contracts';
import { aTeamFarm, type TeamFarm } from '../../../../test/support/team-farm.js';

let farm: TeamFarm;
beforeAll(async () => {
  farm = await aTeamFarm();
  await farm.workflow();
  await farm.workflow('on-claude', { provider: { kind: 'claude', model: 'm-1' } });
  await farm.workflow('on-work', { provider: { kind: 'claude', account: 'work' } });
});
afterEach(() => void farm.machines.splice(0));
afterAll(() => farm.close());

const offer = (name: string, more: Partial<AccountOffer> = {}) =>
  AccountOffer.parse({ name, provider: 'claude', ...more });

/** A pool of its own, whose machine offers these accounts. */
function aMachine(...offers: readonly AccountOffer[]) {
  const pool = `pool-${randomUUID().slice(0, 8)}`;
  farm.machines.push({ id: 'north', pool, labels: [], offers });
  const accounts = offers.map(({ name }) => name);
  return { pool, worker: (name: string) => farm.worker(name, { pool, accounts }) };
}

const accountOf = async (task: string) =>
  (await farm.queue.list(farm.database, { scope: task, limit: 10 })).jobs[0]?.account;

describe('the account of a Dispatch', () => {
  it('is one of its provider that an owner lets anybody use, and the job asks for it', async () => {
    const { pool, worker } = aMachine(
      offer('mine', { use: 'named' }),
      offer('team'),
      offer('other', { provider: 'codex' }),
    );
    const task = await farm.task({ workflow_id: 'on-claude', pool });
    expect(await accountOf(task)).toBe('team');
    await expect(farm.worker('without', { pool }).claim()).rejects.toThrow('nothing to claim');
    const lease = await worker('north').claim();
    expect(lease.payload).toMatchObject({ provider: 'claude', account: 'team', model: 'm-1' });
  });

  it('is the one that the workflow or the Task names; the built-in provider has none', async () => {
    const { pool } = aMachine(offer('team'), offer('work', { use: 'named' }));
    expect(await accountOf(await farm.task({ workflow_id: 'on-work', pool }))).toBe('work');
    expect(await accountOf(await farm.task({ workflow_id: 'on-claude', account: 'work', pool }))).toBe('work');
    expect(await accountOf(await farm.task({ provider: 'claude', pool }))).toBe('team');
    expect(await accountOf(await farm.task({ provider: 'scripted', pool }))).toBeNull();
  });

  it('is of the first agent that a machine offers to anybody, where nobody names one; else it is the built-in provider', async () => {
    const { pool } = aMachine(offer('mine', { provider: 'codex', use: 'named' }), offer('team'));
    expect(await accountOf(await farm.task({ pool }))).toBe('team');
    const bare = aMachine(offer('his', { use: 'named' }));
    expect(await accountOf(await farm.task({ pool: bare.pool }))).toBeNull();
  });

  it('that no machine has is told at the start and at the import, and named while the Task waits for it', async () => {
    const pool = `pool-${randomUUID().slice(0, 8)}`;
    const start = { prompt: 'Do it.', pool, files: [], source: { kind: 'empty' as const }, labels: [], priority: 0 };
    const started = await farm.tx((tx) =>
      farm.teams.tasks.start(
        tx,
        { principal: 'p_00000001' },
        { ...start, workflow_id: 'on-claude', verify_timeout_seconds: 60 },
      ),
    );
    expect(started.warnings).toContainEqual(expect.stringMatching(/provider claude, which lead needs/));
    expect(started.warnings).toContainEqual(expect.stringContaining(`in the pool ${pool}: the work waits`));
    const document = JSON.stringify({
      kind: 'workflow',
      id: 'on-codex',
      description: 'x',
      lead: { id: 'lead', provider: { kind: 'codex', account: 'gone' } },
    });
    const imported = await farm.tx((tx) => farm.teams.workflows.import(tx, { document }));
    expect(imported).toMatchObject({ accepted: true, warnings: [expect.stringContaining('account gone')] });

    await farm.teams.sweeps.prepareTasks(50_000);
    const live = [{ worker: 'w', pool, labels: [], accounts: [] }];
    await farm.teams.sweeps.noteMissingMachines(live);
    expect((await farm.view(started.task_id)).attention).toEqual([
      { kind: 'no_machine', summary: expect.stringContaining('provider claude') },
    ]);

    // a machine comes that has it
    farm.machines.push({ id: 'north', pool, labels: [], offers: [offer('team')] });
    expect(await farm.teams.sweeps.placeAccounts()).toHaveLength(1);
    const lease = await farm.worker('north', { pool, accounts: ['team'] }).claim();
    expect(lease.payload).toMatchObject({ account: 'team' });
  });
});

describe('an account whose machine is broken', () => {
  it('H11 is left for one on another machine, whatever the two are called', async () => {
    const { pool, worker } = aMachine(offer('broken'));
    const task = await farm.task({ workflow_id: 'on-claude', pool });
    const north = worker('north');
    await north.fail(await north.claim(), 'environment');
    expect(await accountOf(task)).toBe('broken');
    farm.machines.push({ id: 'south', pool, labels: [], offers: [offer('good')] });
    expect(await farm.teams.sweeps.placeAccounts()).toHaveLength(1);
    const lease = await farm.worker('south', { pool, accounts: ['good'] }).claim();
    expect(lease.payload).toMatchObject({ account: 'good' });
  });
});

describe('an account that its provider refuses', () => {
  it('H11 is told with the way out, spends nothing, and its work goes on where it was once it is mended', async () => {
    const { pool, worker } = aMachine(offer('refused'));
    const task = await farm.task({ workflow_id: 'on-claude', pool });
    const north = worker('north');
    await north.fail(await north.claim(), 'account_refused');
    // the machine says that it can not use it any more
    const reason = 'Its provider refused the login. Log in again: longshore worker login claude refused';
    farm.machines.splice(0);
    const unusable = [offer('refused', { usable: false, reason })];
    farm.machines.push({ id: 'north', name: 'north', pool, labels: [], offers: [], unusable });
    await farm.teams.sweeps.noteMissingMachines([{ worker: 'north', pool, labels: [], accounts: [] }]);
    const { attention } = await farm.view(task);
    expect(attention).toEqual([{ kind: 'no_machine', summary: expect.stringContaining('account refused on north') }]);
    expect(attention[0]?.summary).toContain('longshore worker login claude refused');
    const more = { prompt: 'x', pool, files: [], source: { kind: 'empty' as const }, labels: [], priority: 0 };
    const started = await farm.tx((tx) =>
      farm.teams.tasks.start(
        tx,
        { principal: 'p_00000001' },
        { ...more, workflow_id: 'on-claude', verify_timeout_seconds: 60 },
      ),
    );
    expect(started.warnings).toEqual([expect.stringContaining('longshore worker login claude refused')]);

    farm.machines.splice(0);
    farm.machines.push({ id: 'north', pool, labels: [], offers: [offer('refused')] });
    await farm.time.pass(2_000);
    await expect(north.claim()).resolves.toMatchObject({ payload: { account: 'refused' } });
    const [job] = (await farm.queue.list(farm.database, { scope: task, limit: 10 })).jobs;
    expect(job).toMatchObject({ tries: 0 });
  });
});

describe('a limit of an account', () => {
  it('holds for all machines and Tasks', async () => {
    const { pool, worker } = aMachine(offer('narrow'));
    await farm.task({ workflow_id: 'on-claude', pool });
    await farm.task({ workflow_id: 'on-claude', pool });
    await farm.tx((tx) => farm.queue.setLimit(tx, 'account:narrow', 1));
    const first = await worker('north').begin();
    await expect(worker('south').claim()).rejects.toThrow('nothing to claim');
    await worker('north')
      .complete(first, 'machine')
      .catch(() => undefined);
    expect(await farm.queue.accounts(farm.database)).toContainEqual(
      expect.objectContaining({ account: 'narrow', max: 1, busy: 1 }),
    );
  });
});

describe('a rate limit', () => {
  it('pauses its account farm-wide until its time, which the Task tells, and spends nothing', async () => {
    const { pool, worker } = aMachine(offer('slow'));
    const [task, other] = [
      await farm.task({ workflow_id: 'on-claude', pool }),
      await farm.task({ workflow_id: 'on-claude', pool }),
    ];
    const north = worker('north');
    const lease = await north.begin();
    await north.complete(lease, 'limited', { retry_after_ms: 3_600_000 });

    const [state] = (await farm.queue.accounts(farm.database)).filter(({ account }) => account === 'slow');
    expect(state?.paused_ms).toBeGreaterThan(3_500_000);
    await expect(worker('south').claim()).rejects.toThrow('nothing to claim');
    for (const id of [task, other]) {
      expect((await farm.view(id)).attention).toEqual([
        { kind: 'account_paused', summary: expect.stringMatching(/^The account slow is paused until \d{4}-/) },
      ]);
    }
    await farm.time.pass(3_700_000);
    await expect(worker('south').claim()).resolves.toMatchObject({ payload: { account: 'slow' } });
    await expect(worker('south').claim()).resolves.toMatchObject({ payload: { account: 'slow' } });
    expect((await farm.view(task)).attention).toEqual([]);
  });

  it('ends before its time where a person says so', async () => {
    const { pool, worker } = aMachine(offer('early'));
    await farm.task({ workflow_id: 'on-claude', pool });
    const north = worker('north');
    await north.complete(await north.begin(), 'limited', { retry_after_ms: 3_600_000 });
    await expect(north.claim()).rejects.toThrow('nothing to claim');
    expect(await farm.tx((tx) => farm.queue.resumeAccount(tx, 'early'))).toBe(true);
    await expect(north.claim()).resolves.toMatchObject({ payload: { account: 'early' } });
    expect(await farm.tx((tx) => farm.queue.resumeAccount(tx, 'early'))).toBe(false);
  });

  it('lets another account stand in where its machine says so, for the lane and for what waits', async () => {
    const { pool, worker } = aMachine(offer('first', { failover: ['second'] }), offer('second', { use: 'named' }));
    const [task, waiting] = [
      await farm.task({ workflow_id: 'on-claude', pool }),
      await farm.task({ workflow_id: 'on-claude', pool }),
    ];
    const north = worker('north');
    await north.complete(await north.begin(), 'limited', { retry_after_ms: 3_600_000 });
    expect(await accountOf(task)).toBe('second');
    expect(await accountOf(waiting)).toBe('first');
    expect(await farm.teams.sweeps.placeAccounts()).toHaveLength(1);
    expect(await accountOf(waiting)).toBe('second');
    const payloads = [(await north.claim()).payload, (await north.claim()).payload];
    expect(payloads).toEqual([
      expect.objectContaining({ account: 'second' }),
      expect.objectContaining({ account: 'second' }),
    ]);
  });

  it('never moves work to an account that nobody allowed', async () => {
    const { pool, worker } = aMachine(offer('work'), offer('private', { use: 'named' }));
    const task = await farm.task({ workflow_id: 'on-work', pool });
    const north = worker('north');
    await north.complete(await north.begin(), 'limited', { retry_after_ms: 3_600_000 });
    await farm.teams.sweeps.placeAccounts();
    expect(await accountOf(task)).toBe('work');
  });

  it('pauses an account that has a limit, too', async () => {
    const { pool, worker } = aMachine(offer('both'));
    await farm.task({ workflow_id: 'on-claude', pool });
    await farm.tx((tx) => farm.queue.setLimit(tx, 'account:both', 5));
    const north = worker('north');
    await north.complete(await north.begin(), 'limited', { retry_after_ms: 3_600_000 });
    await expect(north.claim()).rejects.toThrow('nothing to claim');
  });

  it('D11 leaves a frozen session to its machine, whose account was paused meanwhile', async () => {
    const { pool, worker } = aMachine(offer('cold'));
    const north = worker('north');
    await farm.task({ workflow_id: 'on-claude', pool });
    const lease = await north.begin();
    await farm.time.pass(60_000);
    await farm.tx((tx) => farm.queue.pauseAccount(tx, 'cold', 3_600_000, 'its provider limits it'));
    await farm.queue.sweep();
    await expect(worker('south').claim()).rejects.toThrow('nothing to claim');
    const again = await north.claim([{ job_id: lease.id, lease_id: lease.lease_id }]);
    expect(again).toMatchObject({ id: lease.id, continues: true, epoch: 2 });
  });
});
