import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { grantRevoke, jobSubmit } from '#contracts';
import { type Database, openDatabase, type Statement, statement } from '#store';
import { callerWith } from '../support/a-controller.js';
import { aFleet, type Fleet, type FleetAgent, type Proposed } from '../support/fleet.js';
import { hostilePlugin } from '../support/hostile-plugin.js';
import { waitUntil } from '../support/wait-until.js';

const operations = ['job_submit', 'queue_cancel', 'odd.sweep'] as const;

let fleet: Fleet;
let owner: Database;
let agent: FleetAgent;
let thief: FleetAgent;
beforeAll(async () => {
  fleet = await aFleet(`[api]\nmcp_enabled = true\n${hostilePlugin}`);
  owner = openDatabase({ url: fleet.farm.databaseUrl, max: 3 });
  await waitUntil(async () => (await fleet.admin.ask('odd.sweep', { many: 1 })).status === 409, { within: 30_000 });
  agent = await fleet.anAgent('north', operations);
  thief = await fleet.anAgent('thief', operations);
});
afterAll(async () => {
  await owner.close();
  await fleet.stop();
});

const three = () => {
  const [a, b, c] = fleet.farm.urls;
  if (a === undefined || b === undefined || c === undefined) throw new Error('there are not three controllers');
  return [a, b, c] as const;
};
const confirm = (by: FleetAgent, name: string, input: object, { confirmation_token }: Proposed, at?: string) =>
  by.call(name, { ...input, confirmation_token }, at);
const codeOf = (answer: Readonly<Record<string, unknown>>) => answer.code ?? answer.kind;

/** What every change of grants takes, and every call of an agent shares. */
const accessLock = statement('test.lock_access', 'select pg_advisory_xact_lock(7305012)');
const jobsLock = statement('test.lock_jobs', 'lock table job in exclusive mode');
const countOf = statement<{ n: number }>('test.jobs_in', 'select count(*)::int as n from job where pool = $pool');
const jobsIn = async (pool: string) => (await owner.first(countOf, { pool }))?.n;
const audited = statement<{ n: number; ok: number }>(
  'test.audited_calls',
  `select count(*)::int as n, (count(*) filter (where outcome = 'ok'))::int as ok from audit where kind = $kind`,
);
const rowsOf = async (kind: string) => await owner.first(audited, { kind });

describe('a proposal, by three controllers', () => {
  it('T2 that was made at one and is confirmed at the others at once has one effect and one row', async () => {
    const [a, b, c] = three();
    for (let round = 0; round < 5; round += 1) {
      const input = { kind: 'mail', pool: `twice-${round}` };
      const before = await rowsOf('call:job_submit');
      const proposed = await agent.propose('job_submit', input, a);
      const answers = await Promise.all([b, c].map((at) => confirm(agent, 'job_submit', input, proposed, at)));
      expect(answers.map(({ kind }) => kind).sort()).toEqual(['error', 'result']);
      expect(['already_done', 'confirmation_invalid']).toContain(answers.find(({ kind }) => kind === 'error')?.code);
      expect(await jobsIn(input.pool)).toBe(1);
      expect(await rowsOf('call:job_submit')).toEqual({ n: (before?.n ?? 0) + 1, ok: (before?.ok ?? 0) + 1 });
    }
    const crowd = { kind: 'mail', pool: 'crowd' };
    const proposed = await agent.propose('job_submit', crowd);
    const answers = await Promise.all(Array.from({ length: 24 }, () => confirm(agent, 'job_submit', crowd, proposed)));
    expect(answers.filter(({ kind }) => kind === 'result')).toHaveLength(1);
    expect(await jobsIn('crowd')).toBe(1);
  });

  it('T4 whose token another agent shows is refused to that one, and to its owner then, in the same words', async () => {
    const [a, b, c] = three();
    const input = { kind: 'mail', pool: 'stolen' };
    const proposed = await agent.propose('job_submit', input, a);
    const stolen = await confirm(thief, 'job_submit', input, proposed, b);
    const own = await confirm(agent, 'job_submit', input, proposed, c);
    const guessed = await thief.call('job_submit', { ...input, confirmation_token: 'x'.repeat(43) });
    expect(codeOf(stolen)).toBe('confirmation_invalid');
    expect([own, guessed]).toEqual([stolen, stolen]);
    expect(await jobsIn('stolen')).toBe(0);
  });

  it('T6 of fifty-seven changes shows twenty and counts fifty-seven, to an agent and to a person, and does them all', async () => {
    const input = { many: 57 };
    const proposed = await agent.propose('odd.sweep', input);
    expect([proposed.changes.length, proposed.count]).toEqual([20, 57]);
    expect(proposed.changes.map(({ id }) => id)).toEqual(Array.from({ length: 20 }, (_, n) => `c${100 + n}`));
    const { body, status } = await fleet.admin.ask('odd.sweep', input);
    expect([status, body]).toMatchObject([409, { code: 'confirmation_required', proposal: { count: 57 } }]);
    expect(await confirm(agent, 'odd.sweep', input, proposed)).toMatchObject({ result: { swept: 57 } });
  });

  it('T5 is the last of sixty-four that wait for one caller, whichever controller it asks', async () => {
    const many = await fleet.anAgent('many', ['job_submit']);
    const input = { kind: 'mail', pool: 'many' };
    const proposals = await Promise.all(Array.from({ length: 64 }, () => many.propose('job_submit', input)));
    for (const at of three()) expect(codeOf(await many.call('job_submit', input, at))).toBe('too_many_pending');
    expect((await agent.propose('job_submit', input)).count).toBe(1);
    const [first, ...rest] = proposals;
    if (!first || rest.length !== 63) throw new Error('there are not sixty-four');
    expect((await confirm(many, 'job_submit', input, first)).kind).toBe('result');
    await many.propose('job_submit', input);
    expect(codeOf(await many.call('job_submit', input))).toBe('too_many_pending');
  });

  it('T11 A4.10 is worth nothing once the grant is revoked, also where its call is under way', async () => {
    const [a, b, c] = three();
    const mine = await fleet.anAgent('mine', ['queue_cancel']);
    const { job_id } = await fleet.admin.call(jobSubmit, { kind: 'mail', pool: 'revoked' });
    const proposed = await mine.propose('queue_cancel', { job_id }, a);
    const before = await rowsOf('call:queue_cancel');
    // Both wait for the same lock in the order in which they came: the revocation, then the call that was let in before it.
    const [revoked, answer] = await whileLocked(accessLock, [
      () => fleet.admin.ask('grant_revoke', { agent: mine.id, target: 'queue_cancel' }, { confirm: true }),
      () => mine.ask('queue_cancel', { job_id, confirmation_token: proposed.confirmation_token }, { at: b }),
    ]);
    expect(revoked?.status).toBe(200);
    const hidden = await mine.ask('no_such_thing', {}, { at: c });
    expect([answer?.status, answer?.text]).toEqual([hidden.status, hidden.text]);
    expect(await rowsOf('call:queue_cancel')).toEqual(before);
    expect((await mine.ask('queue_cancel', { job_id }, { at: c })).text).toBe(hidden.text);
    expect(await stateOf(job_id)).toBe('queued');
  });

  it('T11 whose grant is revoked at the same moment is done before that or not at all', async () => {
    for (let round = 0; round < 8; round += 1) {
      const racer = await fleet.anAgent(`racer-${round}`, ['job_submit']);
      const input = { kind: 'mail', pool: `race-${round}` };
      const proposed = await racer.propose('job_submit', input);
      const [answer] = await Promise.all([
        racer.ask('job_submit', { ...input, confirmation_token: proposed.confirmation_token }),
        fleet.admin.call(grantRevoke, { agent: racer.id, target: 'job_submit' }, { confirm: true }),
      ]);
      const isDone = answer.text.includes('"kind":"result"');
      expect([isDone, await jobsIn(input.pool)]).toEqual([isDone, isDone ? 1 : 0]);
      if (!isDone) expect(answer.text).toContain('not available');
      if (isDone) expect(await auditOrder(racer.id)).toBe(true);
    }
  });

  it('S3.3 P5 of one key that is sent again while the first call is in flight waits for it, and all hear one answer', async () => {
    const input = { kind: 'mail', pool: 'in-flight' };
    const send = (url: string) => () =>
      callerWith(url, fleet.admin.token, fleet.admin.id).ask('job_submit', input, { key: 'in-flight' });
    const answers = await whileLocked(jobsLock, three().map(send));
    const [first] = answers;
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(answers.map(({ body }) => body)).toEqual([first?.body, first?.body, first?.body]);
    expect(await jobsIn('in-flight')).toBe(1);
  });

  it('T3 is void once the whole farm has started anew, at every controller', async () => {
    const input = { kind: 'mail', pool: 'restarted' };
    const proposals = await Promise.all(three().map((at) => agent.propose('job_submit', input, at)));
    await fleet.restart();
    const [wrong] = await Promise.all(
      proposals.map(async (proposed, n) => {
        const answer = await confirm(agent, 'job_submit', input, proposed, three()[(n + 1) % 3]);
        expect(codeOf(answer)).toBe('confirmation_invalid');
        return answer;
      }),
    );
    expect(await agent.call('job_submit', { ...input, confirmation_token: 'x'.repeat(43) })).toEqual(wrong);
    expect(await jobsIn('restarted')).toBe(0);
    const again = await agent.propose('job_submit', input);
    expect((await confirm(agent, 'job_submit', input, again)).kind).toBe('result');
    expect(Math.min(...fleet.proxy.served.values())).toBeGreaterThan(10);
  });
});

async function stateOf(job: string): Promise<string | undefined> {
  const sql = statement<{ state: string }>('test.state_of', 'select state from job where id = $job');
  return (await owner.first(sql, { job }))?.state;
}

/** Whether the agent's call stands in the audit before the revocation of its grant. */
async function auditOrder(agentId: string): Promise<boolean> {
  const sql = statement<{ before: boolean }>(
    'test.audit_order',
    `select (select max(seq) from audit where kind = 'call:job_submit' and agent_id = $agent and outcome = 'ok')
      < (select max(seq) from audit where kind = 'call:grant_revoke') as before`,
  );
  return (await owner.first(sql, { agent: agentId }))?.before ?? false;
}

/** Each act is begun when the one before it waits for the lock. */
async function whileLocked<T>(lock: Statement<unknown>, acts: readonly (() => Promise<T>)[]): Promise<readonly T[]> {
  const waiting = statement<{ n: number }>(
    'test.waiting_for_lock',
    `select count(*)::int as n from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock'`,
  );
  const begun: Promise<T>[] = [];
  await owner.transaction(async (tx) => {
    await tx.run(lock);
    for (const [n, act] of acts.entries()) {
      begun.push(act());
      await waitUntil(async () => ((await owner.first(waiting))?.n ?? 0) > n);
    }
  });
  return await Promise.all(begun);
}
