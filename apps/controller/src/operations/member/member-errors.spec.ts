import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  addChild,
  checkpoint,
  delegate,
  type FieldError,
  getCurrentContext,
  jobClaim,
  jobComplete,
  type LeasedJob,
  limits,
  openHumanRequest,
  Problem,
  removeChild,
  setWorkPlan,
  startCommandRun,
  taskControl,
  taskOverview,
  taskStart,
  updateChild,
  workflowImport,
} from '#contracts';
import { aController, type TestController, type TestWorker } from '../../../../../test/support/a-controller.js';
import { withClient } from '../../../../../test/support/test-run.js';

const team = `
kind: workflow
id: team
description: A lead and two
lead:
  id: lead
  capabilities: { human_request: [input] }
  children: [{ id: a, title: A }, { id: b }]
`;
const runner = 'kind: workflow\nid: runner\ndescription: One\nlead: {id: lead, capabilities: {command_run: allow}}\n';

let farm: TestController;
beforeAll(async () => {
  farm = await aController();
  for (const document of [team, runner]) await farm.admin.call(workflowImport, { document });
});
afterAll(() => farm.close());

interface Held {
  readonly task: string;
  readonly worker: TestWorker;
  readonly lease: LeasedJob;
}

async function claimed(worker: TestWorker): Promise<LeasedJob> {
  const { jobs } = await worker.call(jobClaim, { request_id: randomUUID(), wait_seconds: 20 });
  const [lease] = jobs;
  if (!lease) throw new Error('there was nothing to claim');
  return lease;
}

/** A machine that holds the lead of a Task of its own. */
async function held(workflow_id = 'team'): Promise<Held> {
  const pool = `pool-${randomUUID().slice(0, 8)}`;
  const worker = await farm.aWorker({ pool });
  const { task_id } = await farm.admin.call(taskStart, { workflow_id, prompt: 'Do it.', pool });
  return { task: task_id, worker, lease: await claimed(worker) };
}

interface Operation {
  readonly name: string;
}

/** What the member is told. */
async function refusal({ worker, lease }: Omit<Held, 'task'>, { name }: Operation, input: unknown) {
  const answer = await worker.ask(name, input, { jobToken: lease.token, key: randomUUID() });
  expect(answer.status).toBeGreaterThanOrEqual(400);
  return Problem.parse(answer.body);
}

/** Says a handover and ends the Dispatch by it. */
async function handOver({ worker, lease }: Omit<Held, 'task'>, { name }: Operation, input: unknown): Promise<void> {
  const key = randomUUID();
  const said = await worker.ask(name, input, { jobToken: lease.token, key });
  expect(said.status).toBe(200);
  const { id, epoch, lease_id } = lease;
  const result = { handover: { call_id: key } };
  await worker.call(jobComplete, { job_id: id, epoch, lease_id, ended: 'handover', result });
}

const sql = (text: string) => withClient(farm.database.ownerUrl, async (owner) => void (await owner.query(text)));
const work = (...names: readonly string[]) => ({
  assignments: names.map((child_id) => ({ child_id, prompt: 'Do it' })),
});
const question = { kind: 'approval', summary: 'May I?', items: [{ id: 'q', prompt: 'May I?', options: [] }] };
const options = [
  { id: 'y', title: 'Yes' },
  { id: 'n', title: 'No' },
];
const deep = (levels: number): object => (levels === 1 ? { title: 'x' } : { title: 'x', children: [deep(levels - 1)] });
const done = { summary: 'Done', outcome: 'green' } as const;

interface Refused {
  readonly operation: Operation;
  readonly input: unknown;
  readonly code: string;
  readonly fields?: readonly FieldError[];
}
const refusals = {
  checkpoint: [
    ['green before each child is', { operation: checkpoint, input: done, code: 'boundary_precondition_failed' }],
  ],
  delegate: [
    [
      'to somebody who is no direct child',
      {
        operation: delegate,
        input: work('a', 'lead'),
        code: 'illegal_target_relation',
        fields: [{ path: '/assignments/1/child_id', rule: 'direct_child' }],
      },
    ],
  ],
  add: [
    [
      'below the last level',
      { operation: addChild, input: { child: deep(limits.workflowDepth) }, code: 'budget_exhausted' },
    ],
  ],
  update: [
    [
      'itself',
      { operation: updateChild, input: { id: 'lead', patch: { title: 'Me' } }, code: 'illegal_target_relation' },
    ],
    ['nothing', { operation: updateChild, input: { id: 'a', patch: { title: 'A' } }, code: 'illegal_state' }],
  ],
  remove: [['a stranger', { operation: removeChild, input: { id: 'nobody' }, code: 'illegal_target_relation' }]],
  ask: [
    [
      'a kind that was not granted',
      {
        operation: openHumanRequest,
        input: { request: { ...question, items: [{ id: 'q', prompt: 'May I?', options }] } },
        code: 'capability_rejected',
        fields: [{ path: '/request/kind', rule: 'one_of:input' }],
      },
    ],
  ],
  run: [
    [
      'without the grant',
      {
        operation: startCommandRun,
        input: { request: { command: { kind: 'shell', command: 'true' }, summary: 'Look' } },
        code: 'capability_rejected',
      },
    ],
  ],
} satisfies Record<string, readonly (readonly [string, Refused])[]>;

describe('a member is refused with the code that says why:', () => {
  let lead: Held;
  beforeAll(async () => {
    lead = await held();
  });
  const isRefused = async (_: string, { operation, input, code, fields }: Refused) => {
    const problem = await refusal(lead, operation, input);
    expect(problem).toMatchObject({ code, ...(fields && { fields }) });
    // What is refused hands nothing over.
    await lead.worker.call(getCurrentContext, {}, { jobToken: lead.lease.token, key: randomUUID() });
  };
  it.each(refusals.checkpoint)('M3 %s', isRefused);
  it.each(refusals.delegate)('M4 work %s', isRefused);
  it.each(refusals.add)('M5 a member %s', isRefused);
  it.each(refusals.update)('M6 who changes %s', isRefused);
  it.each(refusals.remove)('M7 who removes %s', isRefused);
  it.each(refusals.ask)('M8 who asks %s', isRefused);
  it.each(refusals.run)('M9 who runs a command %s', isRefused);

  it('M4 M6 M7 without a team nobody gives work or changes members, and who is at work is left alone', async () => {
    const held1 = await held();
    await handOver(held1, delegate, work('a'));
    const child = { worker: held1.worker, lease: await claimed(held1.worker) };
    expect(await refusal(child, delegate, work('b'))).toMatchObject({ code: 'illegal_caller' });
    const patch = { id: 'b', patch: { title: 'B' } };
    expect(await refusal(child, updateChild, patch)).toMatchObject({ code: 'illegal_caller' });
    expect(await refusal(child, removeChild, { id: 'b' })).toMatchObject({ code: 'illegal_caller' });

    const busy = await held();
    await sql(`insert into assignment (id, task, member, parent, prompt, children_limit, retry_limit, line_base, line_head)
      select gen_random_uuid(), task, 'a', id, 'Do it', 1, 1, line_base, line_head from assignment where task = '${busy.task}'`);
    expect(await refusal(busy, delegate, work('b', 'a'))).toMatchObject({
      code: 'illegal_state',
      fields: [{ path: '/assignments/1/child_id', rule: 'available' }],
    });
    const other = { id: 'a', patch: { title: 'Other' } };
    expect(await refusal(busy, updateChild, other)).toMatchObject({ code: 'illegal_state' });
    expect(await refusal(busy, removeChild, { id: 'a' })).toMatchObject({ code: 'illegal_state' });
  });

  it('M3 N4 who has used up its attempts', async () => {
    const lead = await held();
    for (let n = 0; n < limits.retriesPerAssignment; n += 1) {
      const lease = n === 0 ? lead.lease : await claimed(lead.worker);
      await handOver({ ...lead, lease }, checkpoint, { summary: 'Another way', outcome: 'retry' });
    }
    const last = { ...lead, lease: await claimed(lead.worker) };
    expect(await refusal(last, checkpoint, { summary: 'Again', outcome: 'retry' })).toMatchObject({
      code: 'budget_exhausted',
    });
  });

  it('M3 D1 who names a file that its work does not hold', async () => {
    const { worker, lease } = await held('runner');
    const key = randomUUID();
    await worker.call(checkpoint, { ...done, files: [{ path: 'nowhere.md' }] }, { jobToken: lease.token, key });
    const { id, epoch, lease_id } = lease;
    const end = { job_id: id, epoch, lease_id, ended: 'handover', result: { handover: { call_id: key } } };
    const answer = Problem.parse((await worker.ask(jobComplete.name, end)).body);
    expect(answer).toMatchObject({ code: 'handover_refused', detail: expect.stringContaining('invalid_task_path') });
  });

  it('R4 I5 who calls when its Dispatch is over, its Task does not run, or its team has changed where it stands', async () => {
    const over = await held();
    await worker(over).call(delegate, work('a'), { jobToken: over.lease.token, key: randomUUID() });
    expect(await refusal(over, delegate, work('b'))).toMatchObject({ code: 'illegal_state' });
    for (const operation of [getCurrentContext, setWorkPlan, checkpoint])
      expect(await refusal(over, operation, inputOf(operation))).toMatchObject({ status: 409, code: 'stale_dispatch' });

    const paused = await held();
    const { actions } = await farm.admin.call(taskOverview, { task_id: paused.task });
    const action_id = actions.find(({ kind }) => kind === 'pause')?.id;
    await farm.admin.call(taskControl, { task_id: paused.task, action_id }, { confirm: true });
    expect(await refusal(paused, checkpoint, done)).toMatchObject({ status: 409, code: 'stale_dispatch' });

    const closed = await held();
    await sql(
      `update dispatch set closed_at = clock_timestamp(), closed_reason = 'drained' where task = '${closed.task}'`,
    );
    expect(await refusal(closed, delegate, work('a'))).toMatchObject({ status: 409, code: 'stale_dispatch' });

    const moved = await held();
    await sql(
      `update team_member m set basis_id = gen_random_uuid() from task t where t.id = '${moved.task}' and m.revision = t.team_revision`,
    );
    const revision = `with next as (insert into team_revision (id, task, sequence) values (gen_random_uuid(), '${moved.task}', 9) returning id),
      members as (insert into team_member select next.id, m.member, m.parent, m.position, m.depth, m.config_id, gen_random_uuid(), m.configuration, m.origin
        from next, team_member m join task t on t.team_revision = m.revision where t.id = '${moved.task}')
      update task set team_revision = next.id from next where task.id = '${moved.task}'`;
    await sql(revision);
    expect(await refusal(moved, checkpoint, done)).toMatchObject({ code: 'stale_dispatch' });

    const retried = await held();
    await sql(`update assignment set attempt = attempt + 1 where task = '${retried.task}'`);
    expect(await refusal(retried, checkpoint, done)).toMatchObject({ code: 'stale_assignment' });
  });

  it('H24 M1 who has no Dispatch, or another’s lease', async () => {
    const command = await held('runner');
    const run = { request: { command: { kind: 'shell', command: 'true' }, summary: 'Look' } };
    await handOver(command, startCommandRun, run);
    const lease = await claimed(command.worker);
    expect(lease.kind).toBe('command_run');
    expect(await refusal({ ...command, lease }, getCurrentContext, {})).toMatchObject({ code: 'scope_mismatch' });
    const [mine, theirs] = [await held(), await held()];
    const borrowed = { worker: mine.worker, lease: theirs.lease };
    expect(await refusal(borrowed, getCurrentContext, {})).toMatchObject({ code: 'stale_lease' });
    expect(await refusal(mine, { name: 'task_get' }, { task_id: mine.task })).toMatchObject({ code: 'not_available' });
  });
});

const worker = ({ worker }: Held) => worker;
function inputOf({ name }: Operation): unknown {
  if (name === checkpoint.name) return { summary: 'Half way' };
  return name === setWorkPlan.name ? { steps: [] } : {};
}
