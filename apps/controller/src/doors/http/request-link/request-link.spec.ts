import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import {
  auditList,
  getCurrentContext,
  type HumanRequestInput,
  humanRequestRespond,
  jobClaim,
  jobComplete,
  type LeasedJob,
  openHumanRequest,
  taskOverview,
  taskStart,
  webhookAdd,
  webhookList,
  webhookRemove,
  webhookTest,
  workflowImport,
} from '#contracts';
import { openDatabase, statement } from '#store';
import { Browser } from '../../../../../../test/support/a-browser.js';
import { type Answer, aController, codeOf, type TestController } from '../../../../../../test/support/a-controller.js';
import { aPerson, goodPassword } from '../../../../../../test/support/people.js';
import { waitUntil } from '../../../../../../test/support/wait-until.js';
import { aReceiver, isSignedBy, type Receiver } from '../../../../../../test/support/webhook-receiver.js';

let receiver: Receiver;
let farm: TestController;
/** A second controller on the same rows: links lead to any. */
let other: TestController;
let secret = '';
beforeAll(async () => {
  receiver = await aReceiver();
  const sources = { privateHosts: ['127.0.0.1'], roots: [], caFile: receiver.caFile };
  farm = await aController({ sources });
  other = await aController({ sources, database: farm.database, data: farm.data });
  const lead = '{id: lead, capabilities: {human_request: [approval, input, direction, review]}}';
  await farm.admin.call(workflowImport, {
    document: `kind: workflow\nid: asker\ndescription: One\nlead: ${lead}\n`,
  });
  const added = await farm.admin.call(webhookAdd, { name: 'ours', url: urlOf(receiver) });
  secret = added.secret;
});
afterAll(async () => {
  await other.close();
  await farm.close();
});

const urlOf = ({ port }: Receiver) => `https://127.0.0.1:${port}/longshore`;
type Question = z.input<typeof HumanRequestInput>;
const way = {
  id: 'way',
  prompt: 'Which <b>way</b>?',
  options: [
    { id: 'left', title: 'Left' },
    { id: 'right', title: 'Right', description: 'The long one' },
  ],
};
const input: Question = { kind: 'input', summary: 'Where to? <script>alert(1)</script>', items: [way] };
const approval: Question = { ...input, kind: 'approval', summary: 'May I?' };

interface Asked {
  readonly task_id: string;
  /** Of the link that went out. */
  readonly path: string;
  /** What the member is told when it goes on. */
  next(): Promise<unknown>;
}

/** A member has asked, and the webhook was told: all of it by the farm's own loops. */
async function asked(request: Question = input): Promise<Asked> {
  const pool = `pool-${randomUUID().slice(0, 8)}`;
  const worker = await farm.aWorker({ pool });
  const { task_id } = await farm.admin.call(taskStart, { workflow_id: 'asker', prompt: 'Do it.', pool });
  const claim = async (): Promise<LeasedJob> => {
    const { jobs } = await worker.call(jobClaim, { request_id: randomUUID(), wait_seconds: 20 });
    if (!jobs[0]) throw new Error('there was nothing to claim');
    return jobs[0];
  };
  const { id, epoch, lease_id, token } = await claim();
  const call_id = randomUUID();
  await worker.call(openHumanRequest, { request }, { jobToken: token, key: call_id });
  const result = { handover: { call_id } };
  await worker.call(jobComplete, { job_id: id, epoch, lease_id, ended: 'handover', result });
  const told = () => receiver.received.find(({ body }) => body.includes(task_id));
  await waitUntil(async () => told() !== undefined, { what: 'the webhook is told' });
  const Told = z.object({ data: z.object({ request: z.object({ link: z.url() }) }) });
  return {
    task_id,
    path: new URL(Told.parse(told()?.message).data.request.link).pathname,
    async next() {
      const { token: jobToken } = await claim();
      return (await worker.call(getCurrentContext, {}, { jobToken, key: randomUUID() })).continuation;
    },
  };
}

const requestOf = async (task_id: string) => (await farm.admin.call(taskOverview, { task_id })).human_requests[0];
const statusOf = async (task_id: string) => (await requestOf(task_id))?.status;
const say = (browser: Browser, page: Answer, path: string, fields: Readonly<Record<string, string>>, extra = {}) =>
  browser.submit(page, { action: 'answer', ...fields }, extra, path);
const left = { 'choice.way': 'option.left' };

async function asOwner(text: string): Promise<void> {
  const owner = openDatabase({ url: farm.database.ownerUrl, max: 1 });
  await owner.run(statement('', text));
  await owner.close();
}

describe('the link of a message', () => {
  it('H44 is opened three times by programs and then answered by a person: looking uses nothing up, and it answers once', async () => {
    const { task_id, path, next } = await asked();
    for (const at of [farm, other, farm]) {
      const looked = await at.fetch(path);
      expect([looked.status, looked.text.includes('Which')]).toEqual([200, true]);
      await at.fetch(path, { method: 'HEAD' });
    }
    expect(await statusOf(task_id)).toBe('open');
    const browser = new Browser(other.url);
    const page = await browser.fetch(path);
    const done = await say(browser, page, path, left, { origin: other.url, 'sec-fetch-site': 'same-origin' });
    expect([done.status, done.text]).toEqual([200, expect.stringContaining('Your answer has arrived')]);
    expect(await next()).toMatchObject({
      kind: 'human_result',
      resolution: { kind: 'answered', item_responses: [{ kind: 'option', item_id: 'way', option_id: 'left' }] },
    });
    expect(await requestOf(task_id)).toMatchObject({ status: 'answered', resolution: { by: 'webhook:ours' } });
    for (const again of [await say(browser, page, path, left), await browser.fetch(path)])
      expect([again.status, again.text]).toEqual([410, expect.stringContaining('This link was used')]);
    const { entries } = await farm.admin.call(auditList, { operation: 'human_request_answer_link', limit: 10 });
    expect(entries).toMatchObject([{ door: 'internal', actor: 'request-link', outcome: 'ok' }]);
    expect(farm.logged.join('')).not.toContain(path);
  });

  it('shows what is asked as text, on a page that loads nothing, runs nothing, and is kept and found by nobody', async () => {
    const { path } = await asked();
    const { text, headers } = await farm.fetch(path);
    expect(text).toContain('Where to? &lt;script&gt;alert(1)&lt;/script&gt;');
    expect(text).toContain('Which &lt;b&gt;way&lt;/b&gt;?');
    expect(text).not.toMatch(/<script|<b>|src=|href=/);
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-security-policy': expect.stringMatching(
        /^default-src 'none'; style-src 'sha256-[^']+'; form-action 'self'/,
      ),
      'cache-control': 'no-store',
      'referrer-policy': 'same-origin',
      'x-robots-tag': expect.stringContaining('noindex'),
      'x-frame-options': 'DENY',
    });
  });

  it('H44 answers its own request and no other, and only while it holds', async () => {
    const [one, two] = [await asked(), await asked()];
    const browser = new Browser(farm.url);
    const page = await browser.fetch(one.path);
    const foreign = await say(browser, page, two.path, left);
    expect([foreign.status, await statusOf(one.task_id), await statusOf(two.task_id)]).toEqual([403, 'open', 'open']);
    for (const unknown of [`/r/${'A'.repeat(43)}`, '/r/short', `${one.path}x`]) {
      const nothing = await farm.fetch(unknown);
      expect([nothing.status, nothing.text]).toEqual([404, expect.stringContaining('leads nowhere')]);
      expect((await say(browser, page, unknown, left)).status).toBe(404);
    }
    const request = (await requestOf(one.task_id))?.request_id;
    await asOwner(`update request_link set expires_at = clock_timestamp() where request = '${request}'`);
    for (const late of [await browser.fetch(one.path), await say(browser, page, one.path, left)])
      expect([late.status, late.text]).toEqual([410, expect.stringContaining('too old')]);
    expect(await statusOf(one.task_id)).toBe('open');
  });

  it('H44 gives no approval to whoever holds it: a person logs in first, and answers as who they are', async () => {
    const { task_id, path } = await asked(approval);
    const viewer = await aPerson(farm, 'viewer');
    const operator = await aPerson(farm, 'operator');
    const browser = new Browser(farm.url);
    const login = await browser.fetch(path);
    expect(login.text).toContain('name="password"');
    expect(login.text).not.toContain('May I?');
    const fields = { request_id: randomUUID(), action_id: 'x', ...left };
    expect((await say(browser, login, path, fields)).text).toContain('name="password"');
    const wrong = await browser.submit(login, { action: 'login', name: operator.name, password: 'no' }, {}, path);
    expect([wrong.status, wrong.text]).toEqual([401, expect.stringContaining('name="password"')]);

    const looker = await viewer.browser();
    const refused = await say(looker, await looker.fetch(path), path, left);
    expect([refused.status, await statusOf(task_id)]).toEqual([403, 'open']);

    const inside = await browser.submit(
      login,
      { action: 'login', name: operator.name, password: goodPassword },
      { origin: farm.url, 'sec-fetch-site': 'same-origin' },
      path,
    );
    expect([inside.status, inside.headers.get('location')]).toEqual([303, path]);
    const page = await browser.fetch(path);
    expect(page.text).toContain(`${operator.name} (operator)`);
    const forged = await say(browser, page, path, { csrf: 'guessed', ...left });
    expect([forged.status, await statusOf(task_id)]).toEqual([403, 'open']);
    expect((await say(browser, page, path, left)).status).toBe(200);
    expect(await requestOf(task_id)).toMatchObject({ status: 'answered', resolution: { by: operator.id } });
  });

  it('H44 gives no approval by its operation either, where nobody has logged in', async () => {
    const { task_id, path } = await asked(approval);
    const request = await requestOf(task_id);
    const { teams, database } = farm.controller.services;
    const answer = {
      ticket: path.split('/').at(-1) ?? '',
      request_id: request?.request_id ?? '',
      action_id: request?.actions.find(({ kind }) => kind === 'answer')?.id ?? '',
      input: {
        kind: 'answer' as const,
        item_responses: [{ kind: 'option' as const, item_id: 'way', option_id: 'left' }],
      },
    };
    await expect(
      database.transaction((tx) => teams.requests.answerByLink(tx, { person: null }, answer)),
    ).rejects.toMatchObject({ code: 'unauthenticated' });
    expect(await statusOf(task_id)).toBe('open');
  });

  it('takes each kind of answer, and stays good after one that does not fit', async () => {
    const { path, next } = await asked({
      kind: 'direction',
      summary: 'Some things',
      items: [
        { id: 'port', prompt: 'Port?', response_schema: { type: 'integer', maximum: 65_535 } },
        { id: 'list', prompt: 'Which?', response_schema: { type: 'array', items: { type: 'string' } } },
        { ...way, allow_other: true, allow_skip: true },
      ],
    });
    const browser = new Browser(farm.url);
    const page = await browser.fetch(path);
    const typed = { 'value.list': '["a","b"]', 'choice.way': 'other', 'other.way': 'Up & away' };
    for (const wrong of [{ 'value.port': 'http' }, { 'value.port': '70000' }, {}]) {
      const again = await say(browser, page, path, { ...typed, ...wrong });
      expect([again.status, again.text]).toEqual([422, expect.stringContaining('value="Up &amp; away"')]);
    }
    expect((await say(browser, page, path, { ...typed, 'value.port': '8080' })).status).toBe(200);
    expect(await next()).toMatchObject({
      resolution: {
        item_responses: [
          { kind: 'value', item_id: 'port', value: 8080 },
          { kind: 'value', item_id: 'list', value: ['a', 'b'] },
          { kind: 'other', item_id: 'way', text: 'Up & away' },
        ],
      },
    });
  });

  it('says so when somebody has answered elsewhere, and takes no form of another site', async () => {
    const { task_id, path } = await asked();
    const browser = new Browser(farm.url);
    const page = await browser.fetch(path);
    for (const extra of [
      { 'sec-fetch-site': 'cross-site' },
      { origin: 'https://elsewhere.example.test' },
      { origin: 'null' },
    ])
      expect((await say(browser, page, path, left, extra)).status).toBe(403);
    const request = await requestOf(task_id);
    await farm.admin.call(humanRequestRespond, {
      task_id,
      request_id: request?.request_id,
      action_id: request?.actions[0]?.id,
      input: { kind: 'answer', item_responses: [{ kind: 'option', item_id: 'way', option_id: 'right' }] },
    });
    for (const late of [await browser.fetch(path), await say(browser, page, path, left)])
      expect([late.status, late.text]).toEqual([410, expect.stringContaining('not open any more')]);
  });

  it('H44 of two answers at once, over two controllers, one counts', async () => {
    const { task_id, path } = await asked();
    const browsers = [new Browser(farm.url), new Browser(other.url)];
    const pages = await Promise.all(browsers.map((browser) => browser.fetch(path)));
    const answers = await Promise.all(
      browsers.map((browser, n) => {
        const page = pages[n];
        if (!page) throw new Error('no page');
        return say(browser, page, path, { 'choice.way': n === 0 ? 'option.left' : 'option.right' });
      }),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(await statusOf(task_id)).toBe('answered');
  });
});

describe('the operations of webhooks', () => {
  it('H41 H44 are for admins: the secret is shown once, a URL is judged before it is kept, a removal is meant', async () => {
    const url = urlOf(receiver);
    const added = await farm.admin.call(webhookAdd, { name: 'second', url, events: ['task_paused'] });
    expect(added).toEqual({ name: 'second', events: ['task_paused'], secret: expect.stringMatching(/^whsec_.{44}$/) });
    const { webhooks } = await farm.admin.call(webhookList, {});
    expect(webhooks.map(({ name }) => name)).toEqual(['ours', 'second']);
    expect(JSON.stringify(webhooks)).not.toContain(added.secret);
    expect(await farm.admin.call(webhookTest, { name: 'second' })).toEqual({
      name: 'second',
      delivered: true,
      status: 204,
    });
    const last = receiver.received.at(-1);
    expect(last && [await isSignedBy(added.secret, last), await isSignedBy(secret, last)]).toEqual([true, false]);
    for (const bad of ['http://127.0.0.1/', 'https://10.0.0.1/', 'https://a:b@example.test/'])
      expect(codeOf(await farm.admin.ask('webhook_add', { name: 'third', url: bad }))).toBe('webhook_refused');
    expect(codeOf(await farm.admin.ask('webhook_remove', { name: 'second' }))).toBe('confirmation_required');
    await farm.admin.call(webhookRemove, { name: 'second' }, { confirm: true });
    expect(codeOf(await farm.admin.ask('webhook_test', { name: 'second' }))).toBe('not_found');
    expect(farm.logged.join('')).not.toContain(added.secret);
  });

  it('H41 keep no secret for a call that is repeated', async () => {
    const key = randomUUID();
    const { secret } = await farm.admin.call(webhookAdd, { name: 'keyed', url: urlOf(receiver) }, { key });
    const again = await farm.admin.ask('webhook_add', { name: 'keyed', url: urlOf(receiver) }, { key });
    expect([again.status, again.text.includes(secret)]).toEqual([409, false]);
    const { database } = farm.controller.services;
    const kept = await database.all(
      statement<{ reply: unknown }>('', `select reply from receipt where operation = 'webhook_add'`),
    );
    expect(kept).toEqual([{ reply: null }]);
  });
});
