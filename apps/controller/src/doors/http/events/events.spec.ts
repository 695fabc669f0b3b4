import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  csrfHeader,
  limits,
  loginPaths,
  personDisable,
  personSetRole,
  TaskView,
  taskEvents,
  taskOverview,
  taskStart,
  workflowImport,
} from '#contracts';
import { aController, codeOf, type TestController } from '../../../../../../test/support/a-controller.js';
import { aPerson, type TestPerson } from '../../../../../../test/support/people.js';
import { waitUntil } from '../../../../../../test/support/wait-until.js';

let farm: TestController;
beforeAll(async () => {
  farm = await aController();
  await farm.admin.call(workflowImport, { document: 'kind: workflow\nid: solo\ndescription: One\nlead: {id: lead}\n' });
});
afterAll(() => farm.close());

interface Item {
  readonly id?: string;
  readonly event: string;
  readonly data: { readonly seq?: number; readonly type?: string };
}

/** A stream as a browser reads it. */
class Stream {
  readonly items: Item[] = [];
  readonly ended: Promise<void>;
  private readonly closing = new AbortController();
  private constructor(readonly response: Response) {
    this.ended = this.read().catch(() => undefined);
  }

  static async open(path: string, headers: Readonly<Record<string, string>>): Promise<Stream> {
    return new Stream(await fetch(`${farm.url}${path}`, { headers }));
  }

  async untilSeq(seq: number): Promise<void> {
    await waitUntil(async () => this.items.some(({ data }) => data.seq === seq), { what: `event ${seq}` });
  }

  close(): Promise<void> {
    this.closing.abort();
    return this.ended;
  }

  private async read(): Promise<void> {
    let text = '';
    for await (const chunk of this.response.body ?? []) {
      if (this.closing.signal.aborted) return;
      text += Buffer.from(chunk).toString();
      const whole = text.split('\n\n');
      text = whole.pop() ?? '';
      for (const block of whole) this.take(block);
    }
  }

  private take(block: string): void {
    const fields = new Map(
      block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
    );
    const data = fields.get('data');
    if (data === undefined) return;
    const id = fields.get('id');
    this.items.push({ ...(id !== undefined && { id }), event: fields.get('event') ?? '', data: JSON.parse(data) });
  }
}

const bearer = () => ({ authorization: `Bearer ${farm.admin.token}` });
const path = (task: string, more = '') => `/v1/events?task_id=${task}${more}`;
const seqs = (stream: Stream) => stream.items.map(({ data }) => data.seq);

async function aTask(): Promise<{ task: string; head: number }> {
  const { task_id } = await farm.admin.call(taskStart, { workflow_id: 'solo', prompt: 'Wait.' });
  await waitUntil(async () => (await farm.admin.call(taskOverview, { task_id })).status === 'running', {
    what: 'it runs',
  });
  return { task: task_id, head: await headOf(task_id) };
}
const headOf = async (task_id: string) => (await farm.admin.call(taskEvents, { task_id })).events.at(-1)?.seq ?? 0;

async function control(task_id: string, kind: string, tx?: Promise<void>): Promise<void> {
  await farm.controller.services.database.transaction(async (within) => {
    await tx;
    const { tasks } = farm.controller.services.teams;
    const view = TaskView.parse(await tasks.get(within, { task_id }, { files_changed: [], files_changed_total: 0 }));
    const action_id = view.actions.find((action) => action.kind === kind)?.id ?? 'none';
    await tasks.control(within, { principal: farm.admin.id }, { task_id, action_id });
  });
}

describe('the record as a stream', () => {
  it('T13 H16 has one item for each row, in sequence, also where the transaction that began first commits last', async () => {
    const { task, head } = await aTask();
    const stream = await Stream.open(path(task, '&after=0'), bearer());
    expect([stream.response.status, stream.response.headers.get('content-type')]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
    ]);
    expect(stream.response.headers.get('cache-control')).toBe('no-store');
    await stream.untilSeq(head);
    const paused = Promise.withResolvers<void>();
    const last = control(task, 'resume', paused.promise);
    await control(task, 'pause');
    paused.resolve();
    await last;
    const now = await headOf(task);
    expect(now).toBeGreaterThan(head + 1);
    await stream.untilSeq(now);
    expect(seqs(stream)).toEqual(Array.from({ length: now }, (_, n) => n + 1));
    expect(stream.items.map(({ id }) => id)).toEqual(seqs(stream).map((seq) => `${task}.${seq}`));
    expect(stream.items.slice(head).map(({ data }) => data.type)).toEqual(
      expect.arrayContaining(['task_paused', 'task_resumed']),
    );
    await stream.close();
  });

  it('H16 goes on after the last id, and begins at the head with a reset where nobody knows the id', async () => {
    const { task, head } = await aTask();
    const on = await Stream.open(path(task), { ...bearer(), 'last-event-id': `${task}.${head - 1}` });
    await on.untilSeq(head);
    expect(seqs(on)).toEqual([head]);
    await on.close();
    const lost: Stream[] = [];
    for (const id of [`${task}.${head + 7}`, `t_00000000.1`, 'what?', `${task}.1.2`])
      lost.push(await Stream.open(path(task), { ...bearer(), 'last-event-id': id }));
    await control(task, 'cancel');
    const now = await headOf(task);
    for (const stream of lost) {
      await stream.untilSeq(now);
      expect(stream.items[0]).toEqual({ event: 'reset', data: {} });
      expect(seqs(stream).slice(1)).toEqual(Array.from({ length: now - head }, (_, n) => head + 1 + n));
      await stream.close();
    }
  });

  it('is refused as a call is: without a credential, with a token in the URL, for a Task that is not there', async () => {
    const { task } = await aTask();
    const refusals = [
      farm.fetch(path(task)),
      farm.fetch(path(task, `&access_token=${farm.admin.token}`), { headers: bearer() }),
      farm.fetch(path('t_00000000'), { headers: bearer() }),
      farm.fetch('/v1/events', { headers: bearer() }),
    ];
    expect((await Promise.all(refusals)).map(codeOf)).toEqual([
      'unauthenticated',
      'invalid_input',
      'not_found',
      'invalid_input',
    ]);
    const worker = await farm.aWorker();
    const asWorker = await farm.fetch(path(task), { headers: { authorization: `Bearer ${worker.token}` } });
    expect(codeOf(asWorker)).toBe('not_available');
  });

  it('H40 comes by a browser’s cookie, and ends within seconds of its logout, another role or a disabled person', async () => {
    const { task } = await aTask();
    const ways: readonly ((
      person: TestPerson,
      browser: Awaited<ReturnType<TestPerson['browser']>>,
    ) => Promise<unknown>)[] = [
      (_, browser) => browser.fetch(loginPaths.logout, { method: 'POST' }, { [csrfHeader]: browser.csrf ?? '' }),
      (person) => farm.admin.call(personSetRole, { person: person.name, role: 'viewer' }, { confirm: true }),
      (person) => farm.admin.call(personDisable, { person: person.name }, { confirm: true }),
    ];
    await Promise.all(
      ways.map(async (way) => {
        const person = await aPerson(farm, 'operator');
        const browser = await person.browser();
        const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
        const stream = await Stream.open(path(task, '&after=0'), { cookie });
        expect(stream.response.status).toBe(200);
        await stream.untilSeq(1);
        await way(person, browser);
        await stream.ended;
      }),
    );
  });

  it('is not kept open without bound: so many for one caller', async () => {
    const { task } = await aTask();
    const person = await aPerson(farm, 'viewer');
    const browser = await person.browser();
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const streams: Stream[] = [];
    for (let n = 0; n < limits.streamsPerPrincipal; n += 1) streams.push(await Stream.open(path(task), { cookie }));
    const over = await farm.fetch(path(task), { headers: { cookie } });
    expect([over.status, codeOf(over)]).toEqual([429, 'too_many_requests']);
    await browser.fetch(loginPaths.logout, { method: 'POST' }, { [csrfHeader]: browser.csrf ?? '' });
    await Promise.all(streams.map(({ ended }) => ended));
  });
});
