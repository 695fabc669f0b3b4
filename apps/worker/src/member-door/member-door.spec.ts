import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { jobClaim, jobHeartbeat, limits } from '#contracts';
import { StandInController } from '../../../../test/support/stand-in-controller.js';
import { tempDir } from '../../../../test/support/temp-dir.js';
import { waitUntil } from '../../../../test/support/wait-until.js';
import { HeldLease } from '../claim/held-lease.js';
import { Farm } from '../controller/farm.js';
import { openLog } from '../log.js';
import { instantOf, machineClock } from '../process/monotonic.js';
import { checkFileReferences } from '../workspace/file-references.js';
import { type Handover, MemberCalls } from './member-calls.js';
import { LocalMemberDoor } from './member-door.js';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const done = { outcome: 'green', summary: 'Done' };

describe('the member door', () => {
  it('offers the operations of a member with their schemas', async () => {
    const { client } = await anOpenDoor();
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['get_current_context', 'set_work_plan', 'checkpoint']);
    expect(tools[2]?.inputSchema).toMatchObject({ type: 'object', required: ['summary'], additionalProperties: false });
  });

  it('D2 answers a call whose answer was lost again, and does not do it again', async () => {
    const { farm, client } = await anOpenDoor();
    let cuts = 0;
    farm.weather = ({ path }) => (path.endsWith('/checkpoint') && cuts++ < 2 ? 'cut_after' : 'fine');
    const answer = await client.callTool({ name: 'checkpoint', arguments: done });
    expect(answer.structuredContent).toMatchObject({ must_stop: true });
    expect(farm.requests(/checkpoint/)).toHaveLength(3);
    expect(farm.calls).toHaveLength(1);
  });

  it('D2 forwards one call at a time', async () => {
    const { farm, client } = await anOpenDoor();
    farm.weather = ({ path }) => (path.endsWith('/set_work_plan') ? { lateMs: 100 } : 'fine');
    const plan = (step: string) =>
      client.callTool({ name: 'set_work_plan', arguments: { steps: [{ step, status: 'pending' }] } });
    await Promise.all([plan('first'), plan('second'), plan('third')]);
    expect(farm.calls).toHaveLength(3);
    expect(farm.memberCallsMost).toBe(1);
  });

  it('D2 closes at the first handover: the same body gets the kept reply, all else is refused', async () => {
    const { farm, client, kept } = await anOpenDoor();
    const first = await client.callTool({ name: 'checkpoint', arguments: done });
    expect(kept).toEqual([expect.objectContaining({ call_id: farm.calls[0]?.callId, operation: 'checkpoint' })]);
    const again = await client.callTool({ name: 'checkpoint', arguments: { summary: 'Done', outcome: 'green' } });
    expect(again.structuredContent).toEqual(first.structuredContent);
    for (const [name, input] of [
      ['checkpoint', { ...done, summary: 'Other' }],
      ['get_current_context', {}],
    ] as const) {
      const refused = await client.callTool({ name, arguments: input });
      expect(refused).toMatchObject({ isError: true, structuredContent: { code: 'stale_dispatch' } });
    }
    expect(farm.calls).toHaveLength(1);
  });

  it('leaves the door open after progress', async () => {
    const { farm, client, calls } = await anOpenDoor();
    await client.callTool({ name: 'checkpoint', arguments: { summary: 'Half' } });
    expect(calls.handover).toBeUndefined();
    await client.callTool({ name: 'checkpoint', arguments: done });
    expect(calls.handover?.call_id).toBe(farm.calls[1]?.callId);
  });

  it('D18 lets a call wait while the lease is not sure', async () => {
    const { farm, client, lease, renew } = await anOpenDoor();
    lease.doubt();
    const answer = client.callTool({ name: 'checkpoint', arguments: done });
    await client.listTools();
    expect(farm.calls).toEqual([]);
    await renew();
    expect((await answer).structuredContent).toMatchObject({ must_stop: true });
  });

  it('D11 goes on with the same call under the next epoch when the lease is given back', async () => {
    const { farm, client, lease, renew, claimBack } = await anOpenDoor();
    farm.job.state = 'queued';
    const answer = client.callTool({ name: 'checkpoint', arguments: done });
    await waitUntil(() => farm.requests(/checkpoint/).length === 1);
    await renew();
    expect(lease.isStale).toBe(true);
    await claimBack();
    expect((await answer).structuredContent).toMatchObject({ must_stop: true });
    expect(lease.epoch).toBe(2);
    expect(farm.calls).toHaveLength(1);
  });

  it('H14 refuses a call whose lease somebody else has', async () => {
    const { farm, client, lease, renew } = await anOpenDoor();
    farm.giveToAnother(farm.job);
    const answer = client.callTool({ name: 'checkpoint', arguments: done });
    await waitUntil(() => farm.requests(/checkpoint/).length === 1);
    await renew();
    lease.lose();
    expect(await answer).toMatchObject({ isError: true, structuredContent: { code: 'stale_lease' } });
    expect(farm.calls).toEqual([]);
  });

  it('I22 H21 refuses a file that is missing, a folder, or behind a symlink, before anything is forwarded', async () => {
    const { farm, client, workspace } = await anOpenDoor();
    writeFileSync(join(workspace, 'real.md'), 'x');
    mkdirSync(join(workspace, 'folder'));
    symlinkSync('/etc', join(workspace, 'etc'));
    symlinkSync('real.md', join(workspace, 'link.md'));
    for (const path of ['missing.md', 'folder', 'etc/passwd', 'link.md']) {
      const refused = await client.callTool({
        name: 'checkpoint',
        arguments: { ...done, files: [{ path: 'real.md' }, { path }] },
      });
      expect(refused).toMatchObject({
        isError: true,
        structuredContent: { code: 'invalid_task_path', fields: [{ path: '/files/1/path', rule: 'regular_file' }] },
      });
    }
    expect(farm.calls).toEqual([]);
    await client.callTool({ name: 'checkpoint', arguments: { ...done, files: [{ path: 'real.md' }] } });
    expect(farm.calls).toHaveLength(1);
  });

  it('H35 carries no secret out, and knows its handover again', async () => {
    const { farm, client, kept } = await anOpenDoor(['deploy-key-canary\n']);
    const said = { ...done, summary: 'Done with deploy-key-canary' };
    const first = await client.callTool({ name: 'checkpoint', arguments: said });
    const again = await client.callTool({ name: 'checkpoint', arguments: said });
    expect(again).toEqual(first);
    expect(farm.calls).toHaveLength(1);
    expect(JSON.stringify([farm.heard, farm.calls, kept, first])).not.toContain('canary');
    expect(kept).toMatchObject([{ input: { summary: 'Done with ***' } }]);
  });

  it('holds no more connections at once than its limit', async () => {
    const { door } = await anOpenDoor();
    const { hostname, port } = new URL(door.door.url);
    const open = async () => {
      const socket = connect(Number(port), hostname).on('error', () => undefined);
      await once(socket, 'connect');
      return socket.resume();
    };
    const sockets = await Promise.all(Array.from({ length: limits.memberDoorConnections }, open));
    await once(await open(), 'close');
    expect(sockets.filter(({ destroyed }) => destroyed)).toEqual([]);
  });

  it('H34 is shut to whoever lacks its token, to web pages and to other names of this machine', async () => {
    const { farm, door } = await anOpenDoor();
    const bearer = { authorization: `Bearer ${door.door.token}` };
    const answers = [
      await knock(door, { headers: {} }),
      await knock(door, { headers: { authorization: 'Bearer other' } }),
      await knock(door, { headers: { ...bearer, origin: 'https://evil.example' } }),
      await knock(door, { headers: { ...bearer, host: 'evil.example' } }),
      await knock(door, { headers: bearer, method: 'GET' }),
    ];
    expect(answers).toEqual([401, 401, 403, 403, 405]);
    await door.close();
    await expect(knock(door, { headers: bearer })).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    expect(farm.calls).toEqual([]);
  });

  it('answers callers that count from the same number each with its own', async () => {
    const { farm, client } = await anOpenDoor();
    farm.weather = ({ path }) => (path.endsWith('/set_work_plan') ? { lateMs: 100 } : 'fine');
    const plan = client.callTool({ name: 'set_work_plan', arguments: { steps: [] } });
    const { tools } = await client.listTools();
    expect(tools).toHaveLength(3);
    expect((await plan).structuredContent).toBeDefined();
  });

  it('refuses what is not JSON-RPC over HTTP, and goes on', async () => {
    const { door, client } = await anOpenDoor();
    const accept = 'application/json, text/event-stream';
    const headers = { authorization: `Bearer ${door.door.token}`, accept };
    const list = { jsonrpc: '2.0', id: 'a', method: 'tools/list' };
    const large = { ...list, params: { _meta: { filler: 'x'.repeat(limits.bodyBytes) } } };
    const answers = [
      await knock(door, { headers: { ...headers, accept: 'text/html' } }),
      await knock(door, { headers: { ...headers, 'content-type': 'text/plain' } }),
      await knock(door, { headers: { ...headers, 'mcp-protocol-version': '1999-01-01' } }),
      await knock(door, { headers, body: '{' }),
      await knock(door, { headers, body: JSON.stringify([list, { id: 1 }]) }),
      await knock(door, { headers, body: JSON.stringify(large) }),
      await knock(door, { headers, body: JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }) }),
      await knock(door, { headers, body: JSON.stringify([list, list]) }),
    ];
    expect(answers).toEqual([406, 415, 400, 400, 400, 413, 202, 200]);
    expect((await client.listTools()).tools).toHaveLength(3);
  });
});

async function anOpenDoor(secrets: readonly string[] = []) {
  const farm = await StandInController.open();
  farm.leaseMs = 60_000;
  const job = farm.add('steps: []');
  const boot = randomUUID();
  const client = new Farm(farm.url, { token: async () => `worker-${boot}`, renew: async () => `worker-${boot}` });
  const [leased] = (await client.call(jobClaim, { request_id: randomUUID() })).jobs;
  if (leased === undefined) throw new Error('nothing was claimed');
  const lease = new HeldLease(leased, instantOf(machineClock));
  const renew = async () => {
    const beat = lease.beat();
    if (beat === undefined) return;
    const worker = { slots: 1, busy: 1, labels: [] };
    const sentAt = instantOf(machineClock);
    const [reply] = (await client.call(jobHeartbeat, { worker, leases: [beat] })).leases;
    if (reply !== undefined) lease.hear(beat, sentAt, reply);
  };
  const claimBack = async () => {
    const { job_id, lease_id } = lease.fence;
    const sentAt = instantOf(machineClock);
    const [back] = (await client.call(jobClaim, { request_id: randomUUID(), frozen: [{ job_id, lease_id }] })).jobs;
    if (back?.continues === true) lease.move(back, sentAt);
  };
  await renew();
  const workspace = tempDir('workspace');
  const kept: Handover[] = [];
  const closing = new AbortController();
  const calls = new MemberCalls({
    farm: client,
    lease,
    checkFiles: (paths) => checkFileReferences(workspace, paths),
    keep: async (handover) => void kept.push(handover),
    secrets,
    signal: closing.signal,
  });
  const door = await LocalMemberDoor.open(calls, openLog('silent'));
  const mcp = aClient(door);
  closers.push(async () => {
    closing.abort(new Error('over'));
    await door.close();
    await client.close();
  });
  return { farm: Object.assign(farm, { job }), client: mcp, lease, renew, claimBack, workspace, kept, calls, door };
}

/** JSON-RPC by hand: the SDK's client stands in its own tests, and the provider's run against this door. */
function aClient({ door }: LocalMemberDoor) {
  const ask = async (method: string, params: object): Promise<unknown> => {
    const answer = await fetch(door.url, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${door.token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    return Reply.parse(await answer.json()).result;
  };
  return {
    callTool: async (call: { name: string; arguments: object }) => Called.parse(await ask('tools/call', call)),
    listTools: async () => Listed.parse(await ask('tools/list', {})),
  };
}

const Reply = z.looseObject({ result: z.unknown() });
const Called = z.looseObject({ isError: z.boolean().optional(), structuredContent: z.unknown() });
const Listed = z.looseObject({ tools: z.array(z.looseObject({ name: z.string(), inputSchema: z.unknown() })) });

function knock(
  door: LocalMemberDoor,
  how: { headers: Record<string, string>; method?: string; body?: string },
): Promise<number> {
  const { method = 'POST', headers, body = '{}' } = how;
  return new Promise((resolve, reject) => {
    const asking = request(
      door.door.url,
      { method, agent: false, headers: { 'content-type': 'application/json', ...headers } },
      (answer) => {
        answer.resume();
        resolve(answer.statusCode ?? 0);
      },
    );
    asking.once('error', reject);
    asking.end(method === 'POST' ? body : undefined);
  });
}
