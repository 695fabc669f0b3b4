import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { accountList, accountResume, status, taskControl, workerList, workflowImport } from '#contracts';
import { Farm, type FarmWorker } from '../support/farm.js';
import { waitUntil } from '../support/wait-until.js';

const accounts = `
accounts:
  work: { provider: scripted, billing: plan, failover: [backup] }
  backup: { provider: scripted, billing: metered, use: named }
  spoiled: { provider: scripted, billing: metered, use: named }
`;
const green = '- call: { operation: checkpoint, input: { summary: "Done.", outcome: green } }';

let farm: Farm;
let north: FarmWorker;
beforeAll(async () => {
  farm = await Farm.start();
  const home = join(farm.data, 'workers', 'north');
  mkdirSync(home, { recursive: true, mode: 0o700 });
  writeFileSync(join(home, 'worker.yaml'), accounts, { mode: 0o600 });
  north = await farm.join('north');
});
afterAll(() => farm.stop());

const account = async (name: string) =>
  (await farm.client.call(status, {})).accounts.find((one) => one.account === name);

describe('provider accounts on a farm', () => {
  it('are what machines offer, and are told at a glance', async () => {
    const offered = await waitUntil(async () => (await account('work'))?.machines.length === 1 && account('work'));
    expect(offered).toMatchObject({ provider: 'scripted', state: 'usable', machines: ['north'], max: null });
    const [worker] = (await farm.client.call(workerList, {})).workers;
    expect(worker?.accounts.map(({ name, billing }) => [name, billing])).toEqual([
      ['work', 'plan'],
      ['backup', 'metered'],
      ['spoiled', 'metered'],
    ]);
    const document = 'kind: workflow\nid: elsewhere\ndescription: x\nlead: { id: lead, provider: { kind: codex } }\n';
    const imported = await farm.client.call(workflowImport, { document });
    expect(imported).toMatchObject({ accepted: true, warnings: [expect.stringContaining('provider codex')] });
  });

  it('fail over where their owner lets them, before and after the session began, and what each did is counted on it', async () => {
    const usage = '- usage: { requests: 2, input_tokens: 100, output_tokens: 10, cost_usd: 0.5 }';
    const limit = '- { when: { continuation: none }, fail: { class: rate_limit, retry_after_ms: 3600000 } }';
    const task = await farm.startTask(`steps:\n  ${usage}\n  ${limit}\n  ${green}\n`, { account: 'work' });
    const view = await farm.until(task);
    expect(view.result?.outcome).toBe('green');
    expect(view.usage?.steps.map((step) => [step.account, step.billing, step.requests])).toEqual([
      ['work', 'plan', 2],
      ['backup', 'metered', 2],
    ]);
    expect(view.usage).toMatchObject({ requests: 4, cost_usd: 1, billed_usd: 0.5 });

    const paused = await account('work');
    expect(paused).toMatchObject({ state: 'paused', note: 'its provider limits it' });
    expect(Date.parse(paused?.resets_at ?? '')).toBeGreaterThan(Date.now() + 3_000_000);

    // refused before it took the session: no try is spent
    await farm.client.call(accountResume, { account: 'work' });
    const refused = await farm.startTask(
      `steps:\n  - { when: { continuation: none }, fail: { class: rate_limit, refuse_start: true, retry_after_ms: 3600000 } }\n  ${green}\n`,
      { account: 'work' },
    );
    expect((await farm.until(refused)).result?.outcome).toBe('green');
    expect((await farm.jobs(refused)).map(({ tries }) => tries)).toEqual([0, 0]);
    expect(await farm.client.call(accountResume, { account: 'work' })).toEqual({ account: 'work', resumed: true });
    const { accounts: all } = await farm.client.call(accountList, {});
    expect(all.find((one) => one.account === 'work')).toMatchObject({ state: 'usable', resets_at: null });
  });

  it('say what happened when their provider refuses them, and are shown as refused', async () => {
    const task = await farm.startTask(
      `steps:\n  - fail: { class: auth, refuse_start: true, detail: "It is not logged in." }\n`,
      { account: 'spoiled' },
    );
    const attention = await waitUntil(async () => (await farm.task(task)).attention[0]);
    expect(attention).toMatchObject({
      kind: 'no_machine',
      summary: expect.stringContaining('account spoiled on north'),
    });
    expect(attention.summary).toContain('longshore provider check spoiled');
    expect(await account('spoiled')).toMatchObject({
      state: 'unusable',
      machines: [],
      note: expect.stringContaining('refused'),
    });
    // the machine is well: others work on
    expect((await farm.client.call(workerList, {})).workers[0]?.state).toBe('live');
    expect((await farm.jobs(task)).map(({ tries, state }) => [tries, state])).toEqual([[0, 'queued']]);
  });

  it('stop at the budget of their Task: the session is ended, its work kept, and Resume goes on with it', async () => {
    const task = await farm.startTask(
      `steps:
  - { when: { continuation: none }, write: { path: half.txt, content: half } }
  - { when: { continuation: none }, usage: { requests: 7, input_tokens: 10 } }
  - { when: { continuation: none }, hang: }
  ${green}
`,
      { account: 'work', budget: { requests: 5 } },
    );
    const paused = await farm.until(task, ['paused']);
    expect(paused).toMatchObject({ pause_reason: 'budget_exhausted', usage: { requests: 7 } });
    expect(paused.attention[0]?.summary).toContain('7 of 5 requests');
    const [job] = await farm.jobs(task);
    await north.event('completed', (event) => event.job === job?.id && event.ended === 'paused');

    const action = (await farm.task(task)).actions.find(({ kind }) => kind === 'resume');
    const resume = (budget?: { requests: number }) =>
      farm.client.call(
        taskControl,
        { task_id: task, action_id: action?.id ?? '', ...(budget && { budget }) },
        { confirm: true },
      );
    await expect(resume()).rejects.toThrow('budget_exhausted');
    await resume({ requests: 50 });
    expect((await farm.until(task)).result?.outcome).toBe('green');
    expect(await farm.fileOf(task, 'half.txt')).toBe('half');
  });
});

describe('a handover that the farm refuses', () => {
  it('D1 is put right by the same session', async () => {
    const named =
      '- call: { operation: checkpoint, input: { summary: "Done.", outcome: green, files: [{ path: a.txt }] }';
    const task = await farm.startTask(`
steps:
  - write: { path: a.txt, content: first }
  ${named}, go_on: true }
  - run: rm a.txt
on_reminder:
  - write: { path: a.txt, content: second }
  ${named} }
`);
    const view = await farm.until(task);
    expect(view.result).toMatchObject({ outcome: 'green', files: [{ path: 'a.txt' }] });
    expect(await farm.fileOf(task, 'a.txt')).toBe('second');
    const jobs = await farm.jobs(task);
    expect(jobs.map(({ epoch }) => epoch)).toEqual([1]);
    // its lines come in order, and the last of them perhaps after the answer of the farm
    await north.event('completed', (event) => event.job === jobs[0]?.id);
    expect(north.events.filter((event) => event.event === 'reminded' && event.job === jobs[0]?.id)).toHaveLength(1);
  });
});
