import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  taskControl,
  taskEvents,
  taskOverview,
  taskSearch,
  taskStart,
  workflowGet,
  workflowImport,
  workflowSearch,
} from '#contracts';
import { aController, codeOf, type TestController } from '../../../../../test/support/a-controller.js';
import { waitUntil } from '../../../../../test/support/wait-until.js';

let farm: TestController;
beforeAll(async () => {
  farm = await aController();
  await farm.admin.call(workflowImport, { document: 'kind: workflow\nid: solo\ndescription: One\nlead: {id: lead}\n' });
});
afterAll(() => farm.close());

describe('the operations of people', () => {
  it('publish a workflow, and tell all that is wrong with one', async () => {
    const broken = await farm.admin.call(workflowImport, { document: 'kind: workflow\nid: x\ncolour: red\n' });
    expect(broken).toMatchObject({ accepted: false, issues: [{ line: 1 }, { line: 1 }, { line: 3, path: '/colour' }] });
    expect((await farm.admin.call(workflowSearch, { query: 'solo' })).items).toMatchObject([
      { workflow_id: 'solo', members: 1, revision_no: 2 },
    ]);
    expect(await farm.admin.call(workflowGet, { workflow_id: 'solo' })).toMatchObject({
      document: { lead: { id: 'lead' } },
    });
  });

  it('P5 S3.3 O12 start one Task for one key, also when it is asked twice at once, and refuse the key for another', async () => {
    const key = randomUUID();
    const input = { workflow_id: 'solo', prompt: 'Once.' };
    const [first, second] = await Promise.all([1, 2].map(() => farm.admin.call(taskStart, input, { key })));
    expect(second).toEqual(first);
    expect(await farm.admin.call(taskStart, input, { key })).toEqual(first);
    expect((await farm.admin.call(taskSearch, { query: 'Once.' })).items).toHaveLength(1);
    const other = await farm.admin.ask('task_start', { ...input, prompt: 'Twice.' }, { key });
    expect([other.status, codeOf(other)]).toEqual([422, 'idempotency_mismatch']);
    const twin = await farm.admin.call(taskStart, input, { key: randomUUID() });
    expect(twin.task_id).not.toBe(first?.task_id);
  });

  it('A6.1 I16 cancel a Task when it is meant, by an action that is still offered', async () => {
    const { task_id } = await farm.admin.call(taskStart, { workflow_id: 'solo', prompt: 'Cancel me.' });
    await running(task_id);
    const action = (await farm.admin.call(taskOverview, { task_id })).actions.find(({ kind }) => kind === 'cancel');
    const input = { task_id, action_id: action?.id };
    const proposed = await farm.admin.ask('task_control', input);
    expect([proposed.status, codeOf(proposed)]).toEqual([409, 'confirmation_required']);
    expect((await farm.admin.call(taskOverview, { task_id })).status).toBe('running');
    expect(await farm.admin.call(taskControl, input, { confirm: true })).toEqual({
      kind: 'cancel',
      status: 'cancelled',
    });
    expect(codeOf(await farm.admin.ask('task_control', input, { confirm: true }))).toBe('conflict');
  });

  it('wait for news of a Task, and answer at once when it is over', async () => {
    const { task_id } = await farm.admin.call(taskStart, { workflow_id: 'solo', prompt: 'Tell me.' });
    await running(task_id);
    const { events } = await farm.admin.call(taskEvents, { task_id });
    const after = events.at(-1)?.seq ?? 0;
    const waiting = farm.admin.call(taskEvents, { task_id, after, wait_seconds: 20 });
    const action = (await farm.admin.call(taskOverview, { task_id })).actions.find(({ kind }) => kind === 'cancel');
    await farm.admin.call(taskControl, { task_id, action_id: action?.id }, { confirm: true });
    expect(await waiting).toMatchObject({ status: 'cancelled', events: [{ type: 'task_cancelled', seq: after + 1 }] });
    expect(await farm.admin.call(taskEvents, { task_id, after: after + 1, wait_seconds: 20 })).toMatchObject({
      events: [],
    });
  });
});

/** The controller's own sweep prepares it. */
function running(task_id: string) {
  return waitUntil(async () => (await farm.admin.call(taskOverview, { task_id })).status === 'running', {
    what: 'the Task runs',
  });
}
