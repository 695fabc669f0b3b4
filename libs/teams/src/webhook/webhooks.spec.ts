import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { isReservedKind, limits, PoolName, type WebhookEvent, webhookAdd } from '#contracts';
import { controllerPool } from '#jobs';
import { statement } from '#store';
import type { Teams } from '#teams';
import { areWaiting, inTurn } from '../../../../test/support/in-turn.js';
import { aTeamFarm, farmUrl, leaseTime, patience, person, type TeamFarm } from '../../../../test/support/team-farm.js';
import { tempDir } from '../../../../test/support/temp-dir.js';
import { waitUntil } from '../../../../test/support/wait-until.js';
import { aReceiver, isSignedBy, type Receiver, receiverHost } from '../../../../test/support/webhook-receiver.js';
import { pauseAfter } from './webhook-kind.js';

let receiver: Receiver;
/** Another host, that nobody has named. */
let stranger: Receiver;
let farm: TeamFarm;
let addresses: readonly string[] = ['127.0.0.1'];
const resolved: string[] = [];

beforeAll(async () => {
  [receiver, stranger] = await Promise.all([aReceiver(), aReceiver()]);
  const caFile = join(tempDir('ca'), 'both.pem');
  writeFileSync(caFile, [receiver.caFile, stranger.caFile].map((path) => readFileSync(path, 'utf8')).join('\n'));
  farm = await aTeamFarm({
    sources: {
      privateHosts: ['127.0.0.1'],
      caFile,
      resolve: async (host) => {
        resolved.push(host);
        return addresses;
      },
    },
  });
  await farm.workflow('asker', { capabilities: { human_request: ['approval', 'input'] } });
});
afterAll(() => farm.close());
afterEach(async () => {
  addresses = ['127.0.0.1'];
  receiver.instead = undefined;
  for (const { name } of (await listed()).webhooks) await farm.tx((tx) => farm.teams.webhooks.remove(tx, name));
  await farm.sql(`update webhook_delivery set next_at = null, state = 'cancelled' where state = 'waiting'`);
});

const listed = () => farm.tx((tx) => farm.teams.webhooks.list(tx));
async function add(events: readonly WebhookEvent[], url = receiver.url, name = `hook-${randomUUID()}`) {
  const input = webhookAdd.input.parse({ name, url, events });
  const judged = await farm.teams.webhooks.prepareAdd(input);
  return farm.tx((tx) => farm.teams.webhooks.add(tx, { principal: person }, input, judged));
}

const deliver = (teams: Teams = farm.teams) => teams.sweeps.deliverWebhooks(patience);
const receivedOf = (task: string, by: Receiver = receiver) =>
  by.received.filter(({ message }) => JSON.stringify(message.data).includes(task));
/** Wall time can not be moved; its next try is due. */
const comeDue = () => farm.sql(`update webhook_delivery set next_at = clock_timestamp() where state = 'waiting'`);
const jobsOf = (task: string) =>
  farm.sql<{ id: string; state: string; note: string | null; tries: number; pool: string }>(
    `select id, state, note, tries, pool from job where kind = 'webhook' and fairness_key = '${task}' order by seq`,
  );

const lockJob = statement<unknown>('test.lock_job', 'select from job where id = $id for update');

const question = {
  kind: 'approval' as const,
  summary: 'May I?',
  items: [
    {
      id: 'way',
      prompt: 'Which way?',
      options: [
        { id: 'left', title: 'Left' },
        { id: 'right', title: 'Right' },
      ],
    },
  ],
};

/** A Task whose lead has asked, and its work has arrived. */
async function asked(prompt = 'Do it.') {
  const { task, worker } = await farm.alone({ workflow_id: 'asker', prompt, title: 'A title' });
  const north = worker('north');
  const lease = await north.begin();
  const ask = () => north.handOverBy(lease, (callId) => north.ask(lease, question, callId));
  return { task, north, lease, ask };
}

/** A paused Task: one fact, told to whoever listens. */
async function paused() {
  const { task } = await farm.alone({ workflow_id: 'asker' });
  await farm.control(task, 'pause');
  return task;
}

describe('a webhook', () => {
  it('H16 H44 I24 is told of a question in one signed message: what is asked, a link, and nothing of how the farm works', async () => {
    const { secret } = await add(['human_request_opened']);
    const { task, lease, ask } = await asked('canary-of-the-prompt');
    await ask();
    expect(await deliver()).toBe(1);
    const [message, ...more] = receivedOf(task);
    if (!message) throw new Error('nothing came');
    expect(more).toEqual([]);
    expect(await isSignedBy(secret, message)).toBe(true);
    expect(await isSignedBy(secret, { ...message, body: `${message.body} ` })).toBe(false);
    expect(await isSignedBy(secret, { ...message, timestamp: String(Number(message.timestamp) + 1) })).toBe(false);
    expect(await isSignedBy(secret, { ...message, id: 'another' })).toBe(false);
    const [request] = (await farm.view(task)).human_requests;
    expect(message.message).toEqual({
      type: 'human_request_opened',
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      data: {
        task: { task_id: task, title: 'A title', workflow_id: 'asker', status: 'running', outcome: null },
        request: {
          request_id: request?.request_id,
          kind: 'approval',
          member: 'lead',
          summary: 'May I?',
          items: [{ ...question.items[0], allow_other: false, allow_skip: false }],
          due_at: null,
          default_behavior: null,
          link_expires_at: expect.stringMatching(/^\d{4}-.*Z$/),
          link: expect.stringMatching(new RegExp(`^${farmUrl}/r/[A-Za-z0-9_-]{43}$`)),
        },
      },
    });
    const [inner] = await farm.sql<{ assignment: string }>(
      `select assignment from human_request where task = '${task}'`,
    );
    for (const hidden of ['canary-of-the-prompt', lease.id, String(inner?.assignment), person])
      expect(message.body).not.toContain(hidden);
    await deliver();
    expect(receivedOf(task)).toHaveLength(1);
    expect(await jobsOf(task)).toMatchObject([{ id: message.id, state: 'done' }]);
  });

  it('H16 is told nothing of a fact that is rolled back, and of the same fact once when it is true', async () => {
    await add(['human_request_opened']);
    const { task, ask } = await asked();
    const broken = await farm.breakAt(task, 'human_request_opened');
    await expect(ask()).rejects.toThrow('broken off');
    expect([await deliver(), await jobsOf(task)]).toEqual([0, []]);
    await broken.mend();
    await ask();
    await deliver();
    expect(receivedOf(task)).toHaveLength(1);
  });

  it('hears of what it was added for and of nothing else, each once', async () => {
    await add(['task_paused', 'attention_opened']);
    const ends = await add(['task_completed', 'task_cancelled']);
    const { task, north, lease } = await asked();
    for (const _ of [1, 2]) await farm.teams.sweeps.noteMissingMachines([]);
    await farm.control(task, 'pause');
    await farm.control(task, 'resume');
    await north.handOver(lease, { summary: 'Done', outcome: 'green' });
    const { task: other } = await farm.alone({ workflow_id: 'asker' });
    for (const _ of [1, 2]) await farm.teams.sweeps.noteMissingMachines([]);
    await farm.control(other, 'cancel');
    await deliver();
    expect(ends.events).toEqual(['task_completed', 'task_cancelled']);
    const types = (of: string) => receivedOf(of).map(({ message }) => message.type);
    expect(types(task).sort()).toEqual(['task_completed', 'task_paused']);
    expect(types(other).sort()).toEqual(['attention_opened', 'task_cancelled']);
    const told = (type: string) =>
      [...receivedOf(task), ...receivedOf(other)].find(({ message }) => message.type === type)?.message.data;
    expect(told('task_completed')).toMatchObject({ task: { status: 'completed', outcome: 'green' } });
    expect(told('task_paused')).toMatchObject({ task: { status: 'paused' }, pause: { reason: 'paused_by_operator' } });
    expect(told('attention_opened')).toMatchObject({
      attention: { kind: 'no_machine', summary: expect.stringContaining('No machine') },
    });
  });

  it('is not called to a Task that was cancelled while a machine for it was looked for', async () => {
    await add(['attention_opened']);
    const { task } = await farm.alone({ workflow_id: 'asker' });
    const [cancelled, noted] = await inTurn(
      farm,
      task,
      () => farm.control(task, 'cancel'),
      () => farm.teams.sweeps.noteMissingMachines([]),
    );
    expect([cancelled.status, noted.status]).toEqual(['fulfilled', 'fulfilled']);
    expect(await farm.sql(`select kind from attention where task = '${task}' and closed_at is null`)).toEqual([]);
    await deliver();
    expect(receivedOf(task)).toEqual([]);
  });

  it('A12.22 is sent the same message under the same id after it failed, when its next try is due, and what it said is cut', async () => {
    const { secret, name } = await add(['task_paused']);
    receiver.instead = (response) =>
      response.writeHead(500).end(`out of\u0007 order\n${'x'.repeat(100_000)} canary-of-the-answer`);
    const task = await paused();
    await deliver();
    const [job] = await jobsOf(task);
    expect(job).toMatchObject({
      state: 'held',
      tries: 1,
      note: expect.stringContaining('it answered 500: out of order x'),
    });
    expect(Buffer.byteLength(job?.note ?? '')).toBeLessThan(limits.webhookExcerptBytes + 64);
    expect((await listed()).webhooks).toMatchObject([{ name, waiting: 1, dead: 0, last_error: job?.note }]);
    expect(await deliver()).toBe(0);
    receiver.instead = undefined;
    await comeDue();
    expect(await deliver()).toBe(1);
    const [first, second, ...more] = receivedOf(task);
    if (!first || !second) throw new Error('it did not come twice');
    expect([second.id, second.body, more]).toEqual([first.id, first.body, []]);
    expect(await isSignedBy(secret, second)).toBe(true);
    expect((await listed()).webhooks).toMatchObject([
      { waiting: 0, dead: 0, delivered_at: expect.any(String), last_error: null },
    ]);
  });

  it('H16 waits longer after each try, in wall time and never all at once, up to a limit', () => {
    const between = (tries: number) => [pauseAfter(tries, () => 0), pauseAfter(tries, () => 1)];
    expect(between(1)).toEqual([limits.webhookPauseMs / 2, limits.webhookPauseMs]);
    expect(between(4)).toEqual([limits.webhookPauseMs * 4, limits.webhookPauseMs * 8]);
    expect(between(limits.webhookTries)).toEqual([limits.webhookPauseMostMs / 2, limits.webhookPauseMostMs]);
  });

  it('is taken when its receiver says so, whatever it goes on saying', async () => {
    await add(['task_paused']);
    receiver.instead = (response) => void response.writeHead(200).write('and so on '.repeat(10_000));
    const task = await paused();
    await deliver();
    expect(await jobsOf(task)).toMatchObject([{ state: 'done', tries: 0 }]);
  });

  it('gives up after its tries, shows that among the dead jobs, and has another life by redrive', async () => {
    const { name } = await add(['task_paused']);
    receiver.instead = (response) => response.writeHead(503).end();
    const task = await paused();
    for (let tries = 1; tries <= limits.webhookTries; tries += 1) {
      await comeDue();
      await deliver();
    }
    const dead = await farm.tx((tx) => farm.queue.list(tx, { state: 'dead', limit: 100 }));
    const [job] = await jobsOf(task);
    expect(dead.jobs.find(({ id }) => id === job?.id)).toMatchObject({
      kind: 'webhook',
      tries: limits.webhookTries,
      note: `it answered 503; ${limits.webhookTries} tries`,
    });
    expect(receivedOf(task)).toHaveLength(limits.webhookTries);
    expect((await listed()).webhooks).toMatchObject([{ name, waiting: 0, dead: 1 }]);
    receiver.instead = undefined;
    expect(await farm.tx((tx) => farm.queue.redrive(tx, job?.id ?? ''))).toBe('queued');
    await deliver();
    expect(receivedOf(task)).toHaveLength(limits.webhookTries + 1);
    expect(await jobsOf(task)).toMatchObject([{ state: 'done' }]);
    await expect(farm.tx((tx) => farm.queue.redrive(tx, job?.id ?? ''))).rejects.toMatchObject({
      code: 'not_resumable',
      detail: 'The job is done.',
    });
  });

  it('is dead at once when its receiver is gone for good (410)', async () => {
    await add(['task_paused']);
    receiver.instead = (response) => response.writeHead(410).end();
    const task = await paused();
    await deliver();
    expect(await jobsOf(task)).toMatchObject([{ state: 'dead', note: 'it answered 410' }]);
  });

  it('A12.22 H14 is sent again by another controller when the one that sent it is lost, and the late word of that one counts for nothing', async () => {
    await add(['task_paused']);
    const answers: (() => void)[] = [];
    receiver.instead = (response) => void answers.push(() => response.writeHead(204).end());
    const task = await paused();
    const underWay = deliver();
    await waitUntil(async () => answers.length === 1, { what: 'the first has it under way' });
    // D25: nobody who can not be heard could lose it, so time goes on.
    expect(await farm.queue.leasedByMachines(farm.database)).toBe(0);
    const other = farm.another();
    expect(await deliver(other.teams)).toBe(0);
    await farm.time.pass(leaseTime);
    await other.queue.sweep();
    expect(await jobsOf(task)).toMatchObject([{ state: 'held', tries: 1, note: expect.stringContaining('was lost') }]);
    receiver.instead = (response) => response.writeHead(500).end();
    expect(await deliver(other.teams)).toBe(1);
    for (const answer of answers) answer();
    expect(await underWay).toBe(1);
    expect(await jobsOf(task)).toMatchObject([{ state: 'held', tries: 2, note: 'it answered 500' }]);
    expect(new Set(receivedOf(task).map(({ id }) => id)).size).toBe(1);
    expect(receivedOf(task)).toHaveLength(2);
    expect(farm.troubles).toEqual([]);
  });

  it('A12.1 is told once by two controllers that look at the same moment', async () => {
    const [one, two] = [farm.another().teams, farm.another().teams];
    await add(['task_paused']);
    const tasks: string[] = [];
    for (let n = 0; n < 8; n += 1) tasks.push(await paused());
    const begun = await Promise.all([deliver(one), deliver(two), deliver(one), deliver(two)]);
    expect(begun.reduce((sum, count) => sum + count)).toBe(8);
    for (const task of tasks) expect(receivedOf(task)).toHaveLength(1);
  });

  it('gives back what is under way when its controller stops, and no try is spent', async () => {
    await add(['task_paused']);
    receiver.instead = () => {};
    const task = await paused();
    const { teams } = farm.another();
    await teams.sweeps.deliverWebhooks(0);
    await waitUntil(async () => receivedOf(task).length === 1, { what: 'it is under way' });
    await teams.close();
    expect(await jobsOf(task)).toMatchObject([{ state: 'queued', tries: 0 }]);
    receiver.instead = undefined;
    await deliver();
    expect(await jobsOf(task)).toMatchObject([{ state: 'done' }]);
  });

  it('H30 H44 is never followed to another host', async () => {
    await add(['task_paused']);
    const elsewhere = `https://localhost:${stranger.port}/taken`;
    receiver.instead = (response) => response.writeHead(307, { location: elsewhere }).end();
    const task = await paused();
    await deliver();
    expect(receivedOf(task)).toHaveLength(1);
    expect(stranger.received).toEqual([]);
    expect(await jobsOf(task)).toMatchObject([{ state: 'held', note: 'it answered 307: redirects are not followed' }]);
  });

  it('H30 H44 goes to the addresses that were judged for this message, and to no private one that nobody has listed', async () => {
    await add(['task_paused']);
    addresses = ['169.254.169.254'];
    const task = await paused();
    await deliver();
    expect(await jobsOf(task)).toMatchObject([
      { state: 'held', note: expect.stringContaining('no admin has listed it') },
    ]);
    addresses = ['127.0.0.1', '10.0.0.1'];
    await comeDue();
    await deliver();
    expect(receivedOf(task)).toEqual([]);
    addresses = ['127.0.0.1'];
    resolved.length = 0;
    await comeDue();
    await deliver();
    // The name is known to this test alone: its one answer is where the message went.
    expect([receivedOf(task).length, resolved]).toEqual([1, [receiverHost]]);
  });

  it('H30 is refused by name where the farm may not call it', async () => {
    const rule = async (url: string) => {
      const refusal: unknown = await add(['task_paused'], url).catch((error: unknown) => error);
      expect(refusal).toMatchObject({ code: 'webhook_refused' });
      return refusal;
    };
    for (const [url, broken] of [
      ['http://hooks.example.test/', 'https'],
      ['file:///etc/passwd', 'url'],
      ['https://user:canary-word@hooks.example.test/', 'no_credentials'],
      ['https://hooks.example.test/#part', 'no_fragment'],
      ['https://hooks.example.test/a b', 'url'],
      ['https://169.254.169.254/latest', 'public_address'],
      ['https://[::ffff:10.0.0.1]/', 'public_address'],
      ['https://2130706434/', 'public_address'],
    ] as const) {
      const refusal = await rule(url);
      expect(refusal).toMatchObject({ fields: [{ path: '/url', rule: broken }] });
      expect(JSON.stringify(refusal)).not.toContain('canary-word');
    }
    addresses = ['192.168.1.1'];
    expect(await rule('https://inner.example.test/')).toMatchObject({ fields: [{ rule: 'public_address' }] });
    expect((await listed()).webhooks).toEqual([]);
  });

  it('H37 is no work of machines or agents: neither is offered it, whatever it asks for', async () => {
    await add(['task_paused']);
    const task = await paused();
    for (const what of [{}, { kinds: ['webhook'] }, { pool: 'controllers', kinds: ['webhook'] }])
      await expect(farm.worker('curious', what).claim()).rejects.toThrow('nothing to claim');
    expect(PoolName.safeParse(controllerPool).success).toBe(false);
    expect(isReservedKind('webhook')).toBe(true);
    expect(await jobsOf(task)).toMatchObject([{ state: 'queued', pool: controllerPool }]);
    await farm.teams.sweeps.noteMissingMachines([]);
    expect(await farm.sql(`select 1 from attention where job in (select id from job where kind = 'webhook')`)).toEqual(
      [],
    );
  });

  it('H41 keeps its secret sealed and the tickets of its links nowhere', async () => {
    const { secret } = await add(['human_request_opened']);
    const { task, ask } = await asked();
    await ask();
    await deliver();
    const link = z.object({ request: z.object({ link: z.string() }) }).parse(receivedOf(task)[0]?.message.data)
      .request.link;
    const rows = JSON.stringify([
      await farm.sql(`select w.*, encode(secret, 'escape') as shown from webhook w`),
      await farm.sql('select * from webhook_delivery'),
      await farm.sql(`select r.*, encode(hash, 'escape') as shown from request_link r`),
      await farm.sql(`select payload, result, note from job where kind = 'webhook'`),
      await farm.sql(`select payload from task_event where task = '${task}'`),
      await listed(),
    ]);
    expect(rows).not.toContain(secret.slice('whsec_'.length));
    expect(rows).not.toContain(link.split('/').at(-1));
  });

  it('H41 keeps of what its receiver says neither its URL, nor its secret, nor the ticket, also where that is cut off', async () => {
    const url = `${receiver.url}/canary-of-the-path?key=canary-of-the-query`;
    const { secret, name } = await add(['human_request_opened'], url);
    const { task, ask } = await asked();
    await ask();
    const said = async (text: (ticket: string) => string) => {
      receiver.instead = (response, { body }) => {
        const ticket = /\/r\/([\w-]{43})"/.exec(body)?.[1] ?? '';
        response.writeHead(404).end(text(ticket));
      };
      await comeDue();
      await deliver();
      const { ticket } = z
        .object({ ticket: z.string().length(43) })
        .parse({ ticket: /\/r\/([\w-]{43})"/.exec(receivedOf(task)[0]?.body ?? '')?.[1] });
      return { ticket, note: `${(await jobsOf(task))[0]?.note} ${(await listed()).webhooks[0]?.last_error}` };
    };
    const path = new URL(url).pathname;
    const whole = await said((ticket) => `Cannot POST ${path}?key=canary-of-the-query: ${secret} ${ticket} is bad`);
    expect(whole.note).toMatch(/it answered 404: Cannot POST \*+: \*+ \*+ is bad/);
    for (const before of [limits.webhookExcerptBytes - 20, limits.webhookExcerptBytes - 200]) {
      const cut = await said(
        (ticket) => `${'x'.repeat(before)}${ticket}${secret}${'\u00e9'.repeat(100)}canary-of-the-path`,
      );
      for (const hidden of [cut.ticket, secret, secret.slice('whsec_'.length), 'canary-of-the-path'])
        expect(cut.note).not.toContain(hidden.slice(0, 8));
    }
    expect((await listed()).webhooks[0]?.name).toBe(name);
  });

  it('spends a try on what the farm can not read any more, and keeps no place for it', async () => {
    const { name } = await add(['task_paused']);
    const task = await paused();
    await farm.sql(`update webhook set secret = '\\x00' where name = '${name}'`);
    const known = farm.troubles.length;
    await deliver();
    expect(await jobsOf(task)).toMatchObject([
      { state: 'held', tries: 1, note: expect.stringContaining('can not read') },
    ]);
    expect(farm.troubles.splice(known)).toHaveLength(1);
    expect(receivedOf(task)).toEqual([]);
  });

  it('is tested by one signed message, and says why it was not taken', async () => {
    const { name, secret } = await add(['task_paused']);
    const test = () => farm.teams.webhooks.test(name, new AbortController().signal);
    expect(await test()).toBe(204);
    const last = receiver.received.at(-1);
    expect(last?.message).toMatchObject({ type: 'webhook_test', data: { webhook: name } });
    expect(last && (await isSignedBy(secret, last))).toBe(true);
    receiver.instead = (response) => response.writeHead(401).end('who are you?');
    await expect(test()).rejects.toMatchObject({
      code: 'webhook_failed',
      detail: expect.stringContaining('it answered 401: who are you?'),
    });
    receiver.instead = (response) => void response.socket?.destroy();
    await expect(test()).rejects.toMatchObject({
      code: 'webhook_failed',
      detail: expect.stringContaining('no connection'),
    });
    await expect(farm.teams.webhooks.test('nobody', new AbortController().signal)).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it('is not sent any more once it is removed, and its name is free', async () => {
    const { name } = await add(['task_paused']);
    await expect(add(['task_paused'], receiver.url, name)).rejects.toMatchObject({ code: 'conflict' });
    const task = await paused();
    await farm.tx((tx) => farm.teams.webhooks.remove(tx, name));
    expect([await deliver(), receivedOf(task)]).toEqual([0, []]);
    expect(await jobsOf(task)).toMatchObject([{ state: 'cancelled' }]);
    await expect(farm.tx((tx) => farm.teams.webhooks.remove(tx, name))).rejects.toMatchObject({ code: 'not_found' });
    await add(['task_paused'], receiver.url, name);
  });

  it('may be removed while a message is under way: that one is the last, and its job ends', async () => {
    const { name } = await add(['task_paused']);
    const answers: (() => void)[] = [];
    receiver.instead = (response) => void answers.push(() => response.writeHead(500).end());
    const task = await paused();
    const underWay = deliver();
    await waitUntil(async () => answers.length === 1, { what: 'it is under way' });
    await farm.tx((tx) => farm.teams.webhooks.remove(tx, name));
    for (const answer of answers) answer();
    await underWay;
    expect(await jobsOf(task)).toMatchObject([{ state: 'cancelled' }]);
    expect(await farm.sql('select 1 from webhook_delivery')).toEqual([]);
  });

  it('may be removed in the moment in which a message of it has arrived', async () => {
    const { name } = await add(['task_paused']);
    const answers: (() => void)[] = [];
    receiver.instead = (response) => void answers.push(() => response.writeHead(204).end());
    const task = await paused();
    const underWay = deliver();
    await waitUntil(async () => answers.length === 1, { what: 'it is under way' });
    const [job] = await jobsOf(task);
    const { removed } = await farm.tx(async (tx) => {
      await tx.run(lockJob, { id: job?.id ?? '' });
      for (const answer of answers) answer();
      await waitUntil(() => areWaiting(farm, 1), { what: 'its end waits for the job' });
      const removal = farm.tx((other) => farm.teams.webhooks.remove(other, name));
      await waitUntil(() => areWaiting(farm, 2), { what: 'the removal waits behind it' });
      return { removed: Promise.allSettled([removal]) };
    });
    expect(await removed).toMatchObject([{ status: 'fulfilled' }]);
    await underWay;
    expect(await jobsOf(task)).toMatchObject([{ state: 'done' }]);
    expect((await listed()).webhooks).toEqual([]);
  });
});
