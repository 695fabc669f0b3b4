import { randomUUID } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import {
  getCurrentContext,
  jobClaim,
  jobComplete,
  openHumanRequest,
  policySet,
  policyShow,
  startCommandRun,
  status,
  taskControl,
  taskOverview,
  taskStart,
  workflowImport,
} from '#contracts';
import { aController, type TestController } from '../../../../../test/support/a-controller.js';

let farm: TestController;
beforeAll(async () => {
  farm = await aController();
  await farm.admin.call(workflowImport, { document: solo('solo') });
});
afterEach(() => setPolicy({}));

const solo = (id: string, provider = '') =>
  `kind: workflow\nid: ${id}\ndescription: One\nlead:\n  id: lead\n${provider}`;
const wide = '  provider: {kind: scripted, sandbox: {mode: full_access, network: allow}}\n';

const setPolicy = (policy: object) => farm.admin.call(policySet, policy, { confirm: true });
const noNetwork = { sandbox: { mode: 'workspace_write', network: 'deny' } };

describe('the policy', () => {
  it('is set by an admin who confirms it, rule by rule, and told', async () => {
    expect(await farm.admin.call(policyShow, {})).toMatchObject({ policy: {} });
    const unconfirmed = await farm.admin.ask('policy_set', { ...noNetwork, providers: ['scripted'] });
    expect(unconfirmed.body).toMatchObject({
      code: 'confirmation_required',
      proposal: {
        count: 2,
        changes: [
          { id: 'providers', before: null },
          { id: 'sandbox', after: noNetwork.sandbox },
        ],
      },
    });
    expect(await farm.admin.call(policyShow, {})).toMatchObject({ policy: {} });
    await setPolicy(noNetwork);
    expect(await farm.admin.call(policyShow, {})).toMatchObject({ policy: noNetwork, changed_by: farm.admin.id });
  });

  it('refuses a workflow that asks for more, at its lines and by the rule', async () => {
    await setPolicy({ ...noNetwork, providers: ['claude'] });
    const refused = await farm.admin.call(workflowImport, { document: solo('wide', wide) });
    expect(refused).toMatchObject({
      accepted: false,
      issues: [
        { line: 6, path: '/lead/provider/kind', message: expect.stringContaining('(rule providers)') },
        { line: 6, path: '/lead/provider/sandbox', message: expect.stringContaining('(rule sandbox)') },
      ],
    });
    const narrow = '  provider: {kind: claude, sandbox: {mode: read_only, network: deny}}\n';
    expect(await farm.admin.call(workflowImport, { document: solo('narrow', narrow) })).toMatchObject({
      accepted: true,
    });
  });

  it('refuses a Task of a workflow that was published before, and a budget over its own', async () => {
    await farm.admin.call(workflowImport, { document: solo('older', wide) });
    await setPolicy({ ...noNetwork, models: ['sonnet*'], budget: { usd: 5 } });
    const refused = await farm.admin.ask('task_start', {
      workflow_id: 'older',
      prompt: 'Do it.',
      budget: { usd: 50 },
    });
    expect(refused.status).toBe(403);
    expect(refused.body).toMatchObject({
      code: 'policy_refused',
      fields: [
        { path: '/budget', rule: 'policy:budget' },
        { path: '/lead/provider/sandbox', rule: 'policy:sandbox' },
        { path: '/lead/provider/model', rule: 'policy:models' },
      ],
      hint: expect.stringContaining('policy show'),
    });
  });

  it('gives walls to a member that names none', async () => {
    const pool = `pool-${randomUUID().slice(0, 8)}`;
    const worker = await farm.aWorker({ pool, slots: 1, labels: ['sandbox:bwrap'] });
    await setPolicy(noNetwork);
    await farm.admin.call(taskStart, { workflow_id: 'solo', prompt: 'Do it.', pool });
    const { jobs } = await worker.call(jobClaim, { request_id: randomUUID(), wait_seconds: 20 });
    expect(jobs[0]?.payload).toMatchObject(noNetwork);
  });

  it('I20 gives a member of what its workflow grants what the policy lets be, as it was when its Dispatch was opened', async () => {
    const grants = '  capabilities: {human_request: [input, approval], command_run: allow}\n';
    await farm.admin.call(workflowImport, { document: solo('granted', grants) });
    await setPolicy({ human_request: ['approval', 'review'], command_run: 'deny' });
    const pool = `pool-${randomUUID().slice(0, 8)}`;
    const worker = await farm.aWorker({ pool, slots: 1 });
    await farm.admin.call(taskStart, { workflow_id: 'granted', prompt: 'Do it.', pool });
    const claimed = async () => {
      const [lease] = (await worker.call(jobClaim, { request_id: randomUUID(), wait_seconds: 20 })).jobs;
      if (!lease) throw new Error('there was nothing to claim');
      return lease;
    };
    const lease = await claimed();
    expect(lease.payload).toMatchObject({
      tools: expect.not.arrayContaining(['start_command_run']),
      human_kinds: ['approval'],
    });
    // A wider policy holds from the next Dispatch on.
    await setPolicy({});
    const ask = (by: typeof lease, name: string, input: unknown) =>
      worker.ask(name, input, { jobToken: by.token, key: randomUUID() });
    const context = z
      .looseObject({ result: getCurrentContext.output })
      .parse((await ask(lease, getCurrentContext.name, {})).body).result;
    expect(context.current_member.effective_capabilities).toEqual({ human_request: ['approval'], command_run: 'deny' });
    expect(context.available_actions).not.toContain('start_command_run');
    const options = ['Yes', 'No'].map((title) => ({ id: title.toLowerCase(), title }));
    const question = { kind: 'input', summary: 'Which?', items: [{ id: 'q', prompt: 'Which?', options }] };
    const command = { command: { kind: 'shell', command: 'true' }, summary: 'Look' };
    for (const [name, request] of [
      [openHumanRequest.name, question],
      [startCommandRun.name, command],
    ] as const)
      expect((await ask(lease, name, { request })).body).toMatchObject({ code: 'capability_rejected' });

    const { id: job_id, epoch, lease_id } = lease;
    await worker.call(jobComplete, { job_id, epoch, lease_id, ended: 'drained', result: {} });
    const next = await claimed();
    expect(next.payload).toMatchObject({
      tools: expect.arrayContaining(['open_human_request', 'start_command_run']),
      human_kinds: ['input', 'approval'],
    });
    expect((await ask(next, startCommandRun.name, { request: command })).status).toBe(200);
  });

  it('lets nothing begin that it has come to forbid, tells a person, and lets it go on when it is allowed again', async () => {
    const pool = `pool-${randomUUID().slice(0, 8)}`;
    const worker = await farm.aWorker({ pool, slots: 1 });
    const { task_id } = await farm.admin.call(taskStart, { workflow_id: 'solo', prompt: 'Do it.', pool });
    const { jobs } = await worker.call(jobClaim, { request_id: randomUUID(), wait_seconds: 20 });
    const {
      id: job_id,
      epoch,
      lease_id,
    } = z.looseObject({ id: z.string(), epoch: z.int(), lease_id: z.string() }).parse(jobs[0]);
    await setPolicy({ providers: ['claude'] });
    await worker.call(jobComplete, { job_id, epoch, lease_id, ended: 'drained', result: {} });
    expect(await worker.call(jobClaim, { request_id: randomUUID() })).toMatchObject({ jobs: [] });
    const { attention } = await farm.admin.call(status, {});
    expect(attention).toMatchObject([
      { task_id, kind: 'policy_refused', summary: expect.stringContaining('providers') },
    ]);

    await setPolicy({ providers: ['claude', 'codex'] });
    expect(await worker.call(jobClaim, { request_id: randomUUID() })).toMatchObject({ jobs: [] });
    await setPolicy({});
    const again = await worker.call(jobClaim, { request_id: randomUUID(), wait_seconds: 20 });
    expect(again.jobs).toHaveLength(1);
    expect((await farm.admin.call(status, {})).attention).toEqual([]);
  });

  it('O11 calls somebody to the Task that it stops, for as long as that is not over', async () => {
    const pool = `pool-${randomUUID().slice(0, 8)}`;
    const worker = await farm.aWorker({ pool, slots: 1 });
    const { task_id } = await farm.admin.call(taskStart, { workflow_id: 'solo', prompt: 'Do it.', pool });
    const { jobs } = await worker.call(jobClaim, { request_id: randomUUID(), wait_seconds: 20 });
    const lease = z.looseObject({ id: z.string(), epoch: z.int(), lease_id: z.string() }).parse(jobs[0]);
    await setPolicy({ providers: ['claude'] });
    const { id: job_id, epoch, lease_id } = lease;
    await worker.call(jobComplete, { job_id, epoch, lease_id, ended: 'drained', result: {} });
    const look = () => farm.admin.call(taskOverview, { task_id });
    const stopped = await look();
    expect(stopped.attention).toMatchObject([{ kind: 'policy_refused' }]);

    const cancel = stopped.actions.find(({ kind }) => kind === 'cancel');
    await farm.admin.call(taskControl, { task_id, action_id: cancel?.id ?? '' }, { confirm: true });
    expect((await look()).attention).toEqual([]);
    expect((await farm.admin.call(status, {})).attention).toEqual([]);
  });
});
