import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { z } from 'zod';
import {
  agentCreate,
  exposureSet,
  grantAdd,
  grantRevoke,
  Proposal,
  taskControl,
  taskOverview,
  taskSearch,
  taskStart,
  workflowImport,
} from '#contracts';
import { openDatabase, statement } from '#store';
import { type Answer, aController, type TestController } from '../../../../../test/support/a-controller.js';
import { agentToken, postMessage, toolResultOf } from '../../../../../test/support/mcp-client.js';
import { modern } from '../../../../../test/support/mcp-messages.js';
import { waitUntil } from '../../../../../test/support/wait-until.js';

let farm: TestController;
let agent: string;
let token: string;

beforeAll(async () => {
  farm = await aController();
  await farm.admin.call(workflowImport, { document: 'kind: workflow\nid: solo\ndescription: One\nlead: {id: lead}\n' });
  const made = await farm.admin.call(agentCreate, { name: 'puppet', kinds: ['mail'] }, { confirm: true });
  agent = made.agent_id;
  token = await agentToken(farm, made);
});

const call = (name: string, input: object = {}): Promise<Answer> => {
  const { headers, body } = modern('tools/call', { name, arguments: input });
  return postMessage(`${farm.url}/mcp/agent`, token, body, headers);
};
const hidden = JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: -32_602, message: 'not available' } });

describe('the door of agents', () => {
  it('A5.1 A4.6 off, never and not granted are one answer; a grant counts from the next call on, and its end, too', async () => {
    await farm.admin.call(exposureSet, { target: 'worker_list', offered: 'off' }, { confirm: true });
    await farm.admin.call(grantAdd, { agent, target: 'worker_list' }, { confirm: true });
    for (const name of ['worker_list', 'exposure_set', 'task_search', 'no_such_tool'])
      expect([name, (await call(name)).text]).toEqual([name, hidden]);
    await farm.admin.call(grantAdd, { agent, target: 'task_search' }, { confirm: true });
    expect(toolResultOf(await call('task_search')).structuredContent).toMatchObject({ kind: 'result' });
    await farm.admin.call(grantRevoke, { agent, target: 'task_search' }, { confirm: true });
    expect((await call('task_search')).text).toBe(hidden);
  });

  it('A4.6 hears nothing of what came after its grant was taken back, though it waited for it', async () => {
    const { services } = farm.controller;
    const { task_id } = await farm.admin.call(taskStart, { workflow_id: 'solo', prompt: 'Do it.' });
    await waitUntil(async () => (await farm.admin.call(taskOverview, { task_id })).status === 'running');
    await farm.admin.call(grantAdd, { agent, target: 'task_events' }, { confirm: true });
    const { structuredContent } = toolResultOf(await call('task_events', { task_id }));
    const { result } = z
      .object({ result: z.object({ events: z.array(z.looseObject({ seq: z.int() })) }) })
      .parse(structuredContent);
    const waits = jest.spyOn(services.teams.tasks, 'waitForNews');
    const late = call('task_events', { task_id, after: result.events.at(-1)?.seq ?? 0, wait_seconds: 20 });
    await waitUntil(async () => waits.mock.calls.length > 0);
    await farm.admin.call(grantRevoke, { agent, target: 'task_events' }, { confirm: true });
    const { actions } = await farm.admin.call(taskOverview, { task_id });
    const cancel = actions.find(({ kind }) => kind === 'cancel');
    await farm.admin.call(taskControl, { task_id, action_id: cancel?.id ?? '' }, { confirm: true });
    expect((await late).text).toBe(hidden);
    waits.mockRestore();
  });

  it('A5.5 hears in no status what others have asked for: it names what this agent may not know of', async () => {
    await farm.admin.call(grantAdd, { agent, target: 'status' }, { confirm: true });
    const owner = openDatabase({ url: farm.database.ownerUrl, max: 1 });
    await owner.run(
      statement<unknown>(
        'test.approval',
        `insert into approval (id, caller, operation, input_hash, digest, agent_id, role, summary, changes, change_count, generation, expires_at)
         select 'ap_00000001', 'another', 'acme.wipe', '\\x00', '\\x00', 'a_00000001', 'operator', 'Wipes it', '[]', 0, generation,
           clock_timestamp() + interval '1 hour' from farm`,
      ),
    );
    await owner.close();
    expect((await farm.admin.ask('status', {})).text).toContain('acme.wipe');
    const answer = await call('status');
    expect(toolResultOf(answer).structuredContent).toMatchObject({ kind: 'result' });
    expect(answer.text).not.toContain('acme.wipe');
  });

  it('proposes a mutation first, and does it when the same arguments come with the token of the proposal', async () => {
    await farm.admin.call(grantAdd, { agent, target: 'task_start' }, { confirm: true });
    const input = { prompt: 'Write a poem', title: 'A poem of the puppet' };
    const { structuredContent } = toolResultOf(await call('task_start', input));
    const { proposal } = z.object({ kind: z.literal('proposal'), proposal: Proposal }).parse(structuredContent);
    expect((await farm.admin.call(taskSearch, { query: 'puppet' })).items).toEqual([]);
    const { confirmation_token } = proposal;
    const done = toolResultOf(await call('task_start', { ...input, confirmation_token }));
    expect(done.structuredContent).toMatchObject({ kind: 'result' });
    expect((await farm.admin.call(taskSearch, { query: 'puppet' })).items).toHaveLength(1);
    const twice = toolResultOf(await call('task_start', { ...input, confirmation_token }));
    expect(twice).toMatchObject({ isError: true, structuredContent: { kind: 'error', code: 'already_done' } });
  });

  it('A8.8 an agent that obeys a text that it was given still widens nothing', async () => {
    for (const name of ['exposure_set', 'grant_add', 'agent_create', 'worker_invite', 'service_token_create'])
      expect((await call(name, { target: 'exposure_set', offered: 'on', agent })).text).toBe(hidden);
  });
});
