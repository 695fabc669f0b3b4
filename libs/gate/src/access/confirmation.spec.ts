import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { FarmError } from '#contracts';
import { beginGeneration, tickFarmClock } from '#store';
import {
  aConsentingFarm,
  anAssistantOf,
  aPerson,
  type ConsentingFarm,
  type ConsentingGate,
} from '../../../../test/support/consenting-gates.js';
import { waitUntil } from '../../../../test/support/wait-until.js';

let farm: ConsentingFarm;
let north: ConsentingGate;
let south: ConsentingGate;
let east: ConsentingGate;
beforeAll(async () => {
  farm = await aConsentingFarm();
  [north, south, east] = [farm.aGate(), farm.aGate(), farm.aGate()];
});
afterAll(() => farm.close());
beforeEach(async () => {
  await farm.sql('truncate quota, ticket, audit, receipt, approval');
  for (const { yard } of [north, south, east]) {
    yard.runs.length = 0;
    yard.pause = async () => {};
  }
});

const audit = () => farm.sql<{ kind: string; outcome: string }>('select kind, outcome from audit order by seq');
const count = async (what: string) =>
  (await farm.sql<{ n: number }>(`select count(*)::int as n from ${what}`))[0]?.n ?? -1;
const other = anAssistantOf('p_bbbbbbbb');
/** A promise and who keeps it. */
function aGate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

describe('an agent is told first', () => {
  it('A6.3 what its call would change, and nothing has changed', async () => {
    await farm.crates('a', 2);
    const before = await farm.sql('select md5(string_agg(q::text, chr(10) order by q::text)) from quota q');
    const proposal = await north.propose('crate_raise', { prefix: 'a' });
    expect(proposal).toEqual({
      summary: 'Raises crates',
      changes: [
        { id: 'a100', before: { max: 1 }, after: { max: 2 } },
        { id: 'a101', before: { max: 1 }, after: { max: 2 } },
      ],
      count: 2,
      confirmation_token: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
      expires_at: expect.any(String),
    });
    expect(await farm.sql('select md5(string_agg(q::text, chr(10) order by q::text)) from quota q')).toEqual(before);
    expect([north.yard.runs, await audit()]).toEqual([[], []]);
  });

  it('T6 A6.4 twenty of fifty-seven changes, and that they are fifty-seven', async () => {
    await farm.crates('a', 57);
    const { changes, count: all } = await north.propose('crate_raise', { prefix: 'a' });
    expect([changes.length, all]).toEqual([20, 57]);
    const few = farm.aGate({ proposalChangesShown: 3 });
    expect((await few.propose('crate_raise', { prefix: 'a' })).changes).toHaveLength(3);
  });

  it('A6.5 in the order of ids, also of nothing, and without a way to write', async () => {
    await farm.crates('a', 30);
    const { changes } = await north.propose('crate_raise', { prefix: 'a' });
    expect(changes.map(({ id }) => id)).toEqual(Array.from({ length: 20 }, (_, n) => `a${100 + n}`));
    const nothing = await north.propose('crate_raise', { prefix: 'nobody' });
    expect(nothing).toMatchObject({ changes: [], count: 0 });
    expect(await north.ask('crate_raise', { prefix: 'nobody' }, { token: nothing.confirmation_token })).toEqual({
      raised: 0,
    });
  });

  it('A7.6 and what is audited is what ran', async () => {
    await farm.crates('a', 1);
    const { confirmation_token: token } = await north.propose('crate_raise', { prefix: 'a' });
    expect(await audit()).toEqual([]);
    await north.ask('crate_raise', { prefix: 'a' }, { token });
    expect(await audit()).toEqual([{ kind: 'call:crate_raise', outcome: 'ok' }]);
  });
});

describe('a token', () => {
  it('A6.6 holds for the same operation, input and caller, and for nothing else', async () => {
    await farm.crates('a', 1);
    const fresh = async () => (await north.propose('crate_raise', { prefix: 'a' })).confirmation_token;
    expect(await north.codeOf('crate_raise', { prefix: 'a', by: 2 }, { token: await fresh() })).toBe(
      'confirmation_invalid',
    );
    expect(await north.codeOf('crate_lift', { prefix: 'a' }, { token: await fresh() })).toBe('confirmation_invalid');
    expect(await north.codeOf('crate_raise', { prefix: 'a' }, { token: await fresh(), ...other })).toBe(
      'confirmation_invalid',
    );
    expect([await farm.look('a'), await audit()]).toEqual([[1], []]);
    expect(await north.ask('crate_raise', { prefix: 'a' }, { token: await fresh() })).toEqual({ raised: 1 });
    expect(await farm.look('a')).toEqual([2]);
  });

  it('A6.7 holds for an equal input, however its keys are ordered and whether a default is sent', async () => {
    const { confirmation_token: token } = await north.propose('crate_raise', { prefix: 'a', note: 'x' });
    expect(await north.codeOf('crate_raise', { note: 'x', by: 1, prefix: 'a' }, { token })).toBe('ran');
  });

  it('A6.8 is 256 random bits, of which the farm keeps the hash and nothing more', async () => {
    const issued: string[] = [];
    for (let n = 0; n < 5; n += 1)
      issued.push((await north.propose('crate_raise', { prefix: 'a' })).confirmation_token);
    expect(new Set(issued).size).toBe(5);
    const hashes = await farm.sql<{ hash: Buffer }>(`select hash from ticket where kind = 'confirm'`);
    expect(hashes.map(({ hash }) => hash.toString('hex')).sort()).toEqual(
      issued.map((token) => createHash('sha256').update(token).digest('hex')).sort(),
    );
    const [burned = ''] = issued;
    await north.ask('crate_raise', { prefix: 'a' }, { token: burned });
    const dump = await dumpOf();
    for (const token of issued) {
      expect(dump).not.toContain(token);
      expect(dump).not.toContain(Buffer.from(token).toString('hex'));
      expect(dump).not.toContain(Buffer.from(token, 'base64url').toString('hex'));
    }
  });

  it('A6.9 lives as long as the farm’s file says, and is over at its last moment', async () => {
    const lives = async (gate: ConsentingGate) => {
      const { confirmation_token: token, expires_at } = await gate.propose('crate_raise', { prefix: 'a' });
      const [row] = await farm.sql<{ left: number; at: Date }>(
        `select extract(epoch from expires_at - clock_timestamp())::float8 as left, expires_at as at from ticket
         where hash = '\\x${createHash('sha256').update(token).digest('hex')}'`,
      );
      expect(row?.at.toISOString()).toBe(expires_at);
      return Math.ceil((row?.left ?? 0) / 10) * 10;
    };
    expect(await lives(north)).toBe(300);
    expect(await lives(farm.aGate({ confirmTtlSeconds: 40 }))).toBe(40);

    const { confirmation_token: over } = await north.propose('crate_raise', { prefix: 'a' });
    await farm.sql(`update ticket set expires_at = clock_timestamp()`);
    const { confirmation_token: young } = await north.propose('crate_raise', { prefix: 'a' });
    expect(await north.codeOf('crate_raise', { prefix: 'a' }, { token: over })).toBe('confirmation_invalid');
    expect(await north.codeOf('crate_raise', { prefix: 'a' }, { token: young })).toBe('ran');
  });

  it('A6.10 is burned by a wrong use, so that the right one comes too late', async () => {
    const { confirmation_token: token } = await north.propose('crate_raise', { prefix: 'a' });
    expect(await north.codeOf('crate_raise', { prefix: 'b' }, { token })).toBe('confirmation_invalid');
    expect(await north.codeOf('crate_raise', { prefix: 'a' }, { token })).toBe('confirmation_invalid');
    expect(north.yard.runs).toEqual([]);
  });

  it.each([
    ['a bad input', 'crate_raise', { prefix: 'a', nobody: 1 }, {}, 'invalid_input'],
    ['an operation that is not there', 'crate_nothing', { prefix: 'a' }, {}, 'not_available'],
    [
      'a role that does not suffice',
      'crate_raise',
      { prefix: 'a' },
      { principal: aPerson('p_aaaaaaaa', 'viewer') },
      'not_available',
    ],
    ['an operation that needs none', 'crate_count', { prefix: 'a' }, {}, 'confirmation_invalid'],
    ['a person at the command line', 'crate_raise', { prefix: 'a' }, { door: 'cli' as const }, 'invalid_input'],
  ])('A6.11 is burned by being shown, also with %s', async (_, name, input, asked, code) => {
    const { confirmation_token: token } = await north.propose('crate_raise', { prefix: 'a' });
    expect(await north.codeOf(name, input, { token, ...asked })).toBe(code);
    expect(await north.codeOf('crate_raise', { prefix: 'a' }, { token })).toBe('confirmation_invalid');
  });

  it('A6.12 is refused in the same words, whatever is wrong with it, and without a new proposal', async () => {
    const fresh = async () => (await north.propose('crate_raise', { prefix: 'a' })).confirmation_token;
    const [expired, burned] = [await fresh(), await fresh()];
    await farm.sql(
      `update ticket set expires_at = clock_timestamp() where hash = '\\x${createHash('sha256').update(expired).digest('hex')}'`,
    );
    await north.codeOf('crate_raise', {}, { token: burned });
    const refused = await Promise.all([
      north.refusal('crate_raise', { prefix: 'a' }, { token: 'x'.repeat(43) }),
      north.refusal('crate_raise', { prefix: 'a' }, { token: expired }),
      north.refusal('crate_raise', { prefix: 'a' }, { token: burned }),
      north.refusal('crate_lift', { prefix: 'a' }, { token: await fresh() }),
      north.refusal('crate_raise', { prefix: 'b' }, { token: await fresh() }),
      north.refusal('crate_raise', { prefix: 'a' }, { token: await fresh(), ...other }),
    ]);
    const told = refused.map((error: FarmError) => JSON.stringify({ ...error, text: error.message }));
    expect(new Set(told).size).toBe(1);
    expect(refused[0]).toMatchObject({ code: 'confirmation_invalid', proposal: undefined });
    expect(await audit()).toEqual([]);
  });

  it('A6.14 comes after exposure, input and class: where the operation was lowered meanwhile it is of no use', async () => {
    const { confirmation_token: token } = await north.propose('crate_raise', { prefix: 'a' });
    await farm.sql(`insert into operation_settings (target, owner, offered) values ('crate_raise', 'user', false)`);
    expect(await south.codeOf('crate_raise', { prefix: 'a' }, { token })).toBe('not_available');
    await farm.sql('delete from operation_settings');
    expect(await south.codeOf('crate_raise', { prefix: 'a' }, { token })).toBe('confirmation_invalid');
    expect(south.yard.runs).toEqual([]);
  });

  it('A1.5 A6.6 is an agent’s own, not its owner’s assistant’s, and of no use after its grant was revoked', async () => {
    await farm.sql(`insert into principal (id, kind, name, role) values ('p_dddddddd', 'person', 'Di', 'operator')`);
    await farm.sql(`insert into principal (id, kind, name) values ('a_dddddddd', 'agent', 'robot')`);
    await farm.sql(`insert into agent (id, owner, scope, pool, labels, slots)
      values ('a_dddddddd', 'p_dddddddd', '{}', 'default', '{}', 1)`);
    const robot = { kind: 'agent' as const, id: 'a_dddddddd', name: 'robot', owner: 'p_dddddddd' };
    const principal = { ...robot, scope: [], pool: 'default', labels: [], slots: 1 };
    const grant = `insert into agent_grant (agent, target, granted_by) values ('a_dddddddd', 'crate_raise', 'p_dddddddd')`;
    await farm.sql(grant);
    const { confirmation_token: token } = await north.propose('crate_raise', { prefix: 'a' }, { principal });
    expect(await north.codeOf('crate_raise', { prefix: 'a' }, { ...anAssistantOf('p_dddddddd'), token })).toBe(
      'confirmation_invalid',
    );
    const { confirmation_token: second } = await north.propose('crate_raise', { prefix: 'a' }, { principal });
    await farm.sql(`delete from agent_grant where agent = 'a_dddddddd'`);
    expect(await south.codeOf('crate_raise', { prefix: 'a' }, { principal, token: second })).toBe('not_available');
    await farm.sql(grant);
    const { confirmation_token: third } = await north.propose('crate_raise', { prefix: 'a' }, { principal });
    expect(await south.codeOf('crate_raise', { prefix: 'a' }, { principal, token: third })).toBe('ran');
    expect(await farm.sql('select class, actor, agent_id from audit')).toEqual([
      { class: 'agent', actor: 'p_dddddddd', agent_id: 'a_dddddddd' },
    ]);
  });

  it('T4 that somebody else shows is refused to them, and then to its owner too', async () => {
    await farm.crates('a', 1);
    const { confirmation_token: token } = await north.propose('crate_raise', { prefix: 'a' });
    expect(await south.codeOf('crate_raise', { prefix: 'a' }, { token, ...other })).toBe('confirmation_invalid');
    expect(await north.codeOf('crate_raise', { prefix: 'a' }, { token })).toBe('confirmation_invalid');
    expect(await farm.look('a')).toEqual([1]);
  });

  it('A6.18 is an unknown field to people, and `confirm` is one to agents', async () => {
    const { confirmation_token: token } = await north.propose('crate_raise', { prefix: 'a' });
    expect(await north.refusal('crate_raise', { prefix: 'a' }, { door: 'cli', token })).toMatchObject({
      code: 'invalid_input',
      fields: [{ path: '/confirmation_token', rule: 'unknown_field' }],
    });
    expect(await north.refusal('crate_raise', { prefix: 'a' }, { confirm: true })).toMatchObject({
      code: 'invalid_input',
      fields: [{ path: '/confirm', rule: 'unknown_field' }],
    });
    expect(north.yard.runs).toEqual([]);
  });

  it('A1.8 A1.4 is needed by a person’s own assistant too: only the door of a person confirms', async () => {
    expect(await north.codeOf('crate_raise', { prefix: 'a' }, { confirm: true })).toBe('invalid_input');
    expect(await north.codeOf('crate_raise', { prefix: 'a' })).toBe('confirmation_required');
    expect(await north.codeOf('crate_raise', { prefix: 'a' }, { door: 'cli', confirm: true })).toBe('ran');
  });
});

describe('proposals that wait', () => {
  it('T5 A6.13 are sixty-four of one caller at most, whichever controller it asks, and none of them is given up', async () => {
    const gates = [north, south, east];
    const first = await north.propose('crate_raise', { prefix: 'a' });
    const codes = await Promise.all(
      Array.from({ length: 70 }, (_, n) => gates[n % 3]?.codeOf('crate_raise', { prefix: 'a', note: `n${n}` })),
    );
    expect(codes.filter((code) => code === 'confirmation_required')).toHaveLength(63);
    expect(codes.filter((code) => code === 'too_many_pending')).toHaveLength(7);
    expect(await south.codeOf('crate_raise', { prefix: 'a' }, other)).toBe('confirmation_required');
    expect(await east.codeOf('crate_raise', { prefix: 'a' }, { token: first.confirmation_token })).toBe('ran');
    expect(await north.codeOf('crate_raise', { prefix: 'a' })).toBe('confirmation_required');
    expect(await north.codeOf('crate_raise', { prefix: 'a' })).toBe('too_many_pending');
    await farm.sql(`update ticket set expires_at = clock_timestamp()`);
    expect(await north.codeOf('crate_raise', { prefix: 'a' })).toBe('confirmation_required');
    expect(await count(`ticket where principal like '%aaaaaaaa%'`)).toBe(1);
  });
});

describe('several controllers', () => {
  it('T2 A6.15 make one effect of one proposal that is confirmed on two of them at once', async () => {
    await farm.crates('a', 1, 0);
    for (let round = 1; round <= 20; round += 1) {
      const { confirmation_token: token } = await north.propose('crate_raise', { prefix: 'a' });
      const codes = await Promise.all(
        [south, east].map((gate) => gate.codeOf('crate_raise', { prefix: 'a' }, { token })),
      );
      expect(codes.filter((code) => code === 'ran')).toHaveLength(1);
      expect(['confirmation_invalid', 'already_done']).toContain(codes.find((code) => code !== 'ran'));
      expect(await farm.look('a')).toEqual([round]);
    }
    expect(await audit()).toHaveLength(20);
  });

  it('A6.15 refuse the second while the first is at it', async () => {
    await farm.crates('a', 1);
    const { confirmation_token: token } = await north.propose('crate_raise', { prefix: 'a' });
    const [reached, held] = [aGate(), aGate()];
    south.yard.pause = async () => {
      reached.open();
      await held.opened;
    };
    const first = south.codeOf('crate_raise', { prefix: 'a' }, { token });
    await reached.opened;
    expect(await east.codeOf('crate_raise', { prefix: 'a' }, { token })).toBe('confirmation_invalid');
    held.open();
    expect(await first).toBe('ran');
  });

  it('A6.15 keep what waits when one of them starts anew beside others that live', async () => {
    const { confirmation_token: token } = await north.propose('crate_raise', { prefix: 'a' });
    await farm.sql(`update farm_clock set ticked_at = clock_timestamp() - interval '2 s'`);
    await tickFarmClock(north.database);
    await beginGeneration(east.database);
    expect(await east.codeOf('crate_raise', { prefix: 'a' }, { token })).toBe('ran');
  });

  it('T3 A6.8 forget what waits when the whole farm starts anew', async () => {
    const { confirmation_token: token } = await north.propose('crate_raise', { prefix: 'a' });
    await farm.closeGates();
    await farm.sql(`update farm_clock set ticked_at = clock_timestamp() - interval '6 s'`);
    [north, south, east] = [farm.aGate(), farm.aGate(), farm.aGate()];
    await Promise.all([north, south, east].map(({ database }) => beginGeneration(database)));
    expect(await south.codeOf('crate_raise', { prefix: 'a' }, { token })).toBe('confirmation_invalid');
    expect(south.yard.runs).toEqual([]);
  });
});

describe('what was proposed is what is done', () => {
  it('A6.16 or nothing is: not where the world has moved since', async () => {
    await farm.crates('a', 3);
    const { confirmation_token: token } = await north.propose('crate_raise', { prefix: 'a' });
    await farm.crates('a', 2, 7);
    expect(await south.codeOf('crate_raise', { prefix: 'a' }, { token })).toBe('changed_since_proposal');
    expect(await farm.look('a')).toEqual([7, 7, 1]);
    expect([south.yard.runs, await audit(), await count('receipt')]).toEqual([[], [], 0]);
    expect(await south.codeOf('crate_raise', { prefix: 'a' }, { token })).toBe('confirmation_invalid');
  });

  it('A6.16 counts also the changes that were too many to be shown', async () => {
    await farm.crates('a', 30);
    const { confirmation_token: token } = await north.propose('crate_raise', { prefix: 'a' });
    await farm.sql(`update quota set max = 9 where name = 'a129'`);
    expect(await north.codeOf('crate_raise', { prefix: 'a' }, { token })).toBe('changed_since_proposal');
  });

  it('A6.16 lets nobody in between the last look and the change', async () => {
    await farm.crates('a', 1);
    const { confirmation_token: token } = await north.propose('crate_raise', { prefix: 'a' });
    const { confirmation_token: rival } = await south.propose('crate_raise', { prefix: 'a' }, other);
    const [reached, held] = [aGate(), aGate()];
    north.yard.pause = async () => {
      reached.open();
      await held.opened;
    };
    const first = north.codeOf('crate_raise', { prefix: 'a' }, { token });
    await reached.opened;
    const second = south.codeOf('crate_raise', { prefix: 'a' }, { token: rival, ...other });
    await waitsForLock('%from quota%for update%');
    held.open();
    expect(await Promise.all([first, second])).toEqual(['ran', 'changed_since_proposal']);
    expect(await farm.look('a')).toEqual([2]);
  });

  it('A6.16 looks before an effect that no transaction can take back', async () => {
    await farm.crates('a', 1);
    const { confirmation_token: token } = await north.propose('crate_send', { prefix: 'a' });
    await farm.crates('a', 1, 5);
    expect(await north.codeOf('crate_send', { prefix: 'a' }, { token })).toBe('changed_since_proposal');
    expect(north.yard.runs).toEqual([]);
    const { confirmation_token: again } = await north.propose('crate_send', { prefix: 'a' });
    expect(await north.codeOf('crate_send', { prefix: 'a' }, { token: again })).toBe('ran');
    expect(north.yard.runs).toEqual(['sent a']);
  });

  it('A6.17 tells of an effect outside that was begun and did not end well, and neither guesses nor acts again', async () => {
    await farm.crates('torn', 1);
    const { confirmation_token: token } = await north.propose('crate_send', { prefix: 'torn' });
    const torn = jest.spyOn(north.yard.runs, 'push').mockImplementation(() => {
      throw new Error('the wire broke');
    });
    expect(await north.codeOf('crate_send', { prefix: 'torn' }, { token })).toBe('internal');
    torn.mockRestore();
    const sent = north.yard.runs.length;
    expect(await north.codeOf('crate_send', { prefix: 'torn' }, { token })).toBe('conflict');
    expect(await north.codeOf('crate_send', { prefix: 'a' }, { token })).toBe('confirmation_invalid');
    expect(north.yard.runs).toHaveLength(sent);
  });
});

describe('an answer that was lost', () => {
  it('A6.17 is told to who asks again, and done once', async () => {
    await farm.crates('a', 1);
    const { confirmation_token: token } = await north.propose('crate_raise', { prefix: 'a' });
    await north.ask('crate_raise', { prefix: 'a' }, { token });
    const again = await south.refusal('crate_raise', { by: 1, prefix: 'a' }, { token });
    expect(again).toMatchObject({
      code: 'already_done',
      receipt: { outcome: 'ok', done_at: expect.any(String), result: { raised: 1 } },
    });
    expect([await farm.look('a'), await audit()]).toEqual([[2], [{ kind: 'call:crate_raise', outcome: 'ok' }]]);
    expect(await south.codeOf('crate_raise', { prefix: 'a' }, { token, ...other })).toBe('confirmation_invalid');
    expect(await south.codeOf('crate_raise', { prefix: 'b' }, { token })).toBe('confirmation_invalid');
    expect(await south.codeOf('crate_lift', { prefix: 'a' }, { token })).toBe('confirmation_invalid');
    expect(await south.codeOf('crate_raise', { prefix: 'a' }, { token })).toBe('already_done');
  });

  it('A6.17 of a call that failed is none: it was not done', async () => {
    const { confirmation_token: token } = await north.propose('crate_raise', { prefix: 'a' });
    north.yard.pause = () => Promise.reject(new Error('a fault'));
    expect(await north.codeOf('crate_raise', { prefix: 'a' }, { token })).toBe('internal');
    expect(await north.codeOf('crate_raise', { prefix: 'a' }, { token })).toBe('confirmation_invalid');
    expect(await count('receipt')).toBe(0);
  });

  it('H41 that was a secret is not told again, and kept nowhere', async () => {
    const { confirmation_token: token } = await north.propose('crate_tell', { prefix: 'a' });
    await north.ask('crate_tell', { prefix: 'a' }, { token });
    const { code, receipt } = await north.refusal('crate_tell', { prefix: 'a' }, { token });
    expect([code, receipt]).toEqual(['already_done', { outcome: 'ok', done_at: expect.any(String) }]);
    expect(JSON.stringify(await farm.sql('select reply from receipt'))).not.toContain('raised');
  });

  it('P5 under a key of its own is answered again, also after a second proposal', async () => {
    await farm.crates('a', 1);
    const once = async () => {
      const { confirmation_token: token } = await north.propose('crate_raise', { prefix: 'a' });
      return await north.ask('crate_raise', { prefix: 'a' }, { token, callId: 'k-1' });
    };
    expect([await once(), await once()]).toEqual([{ raised: 1 }, { raised: 1 }]);
    expect(await farm.look('a')).toEqual([2]);
  });
});

describe('a caller that goes', () => {
  it('A7.10 before the commit has undone it, and the audit says so', async () => {
    await farm.crates('a', 1);
    const { confirmation_token: token } = await north.propose('crate_raise', { prefix: 'a' });
    const caller = new AbortController();
    north.yard.pause = async () => caller.abort();
    expect(await north.codeOf('crate_raise', { prefix: 'a' }, { token, signal: caller.signal })).toBe('cancelled');
    expect([await farm.look('a'), await count('receipt')]).toEqual([[1], 0]);
    expect(await audit()).toEqual([{ kind: 'call:crate_raise', outcome: 'cancelled' }]);
    expect(await north.codeOf('crate_raise', { prefix: 'a' }, { token })).toBe('confirmation_invalid');
  });

  it('A7.10 once the commit is sent changes nothing: it is done, and the receipt is there', async () => {
    await farm.crates('a', 1);
    await farm.sql(`create or replace function slow_commit() returns trigger language plpgsql as
      $$ begin perform pg_advisory_xact_lock(4711); return null; end $$`);
    await farm.sql(`create constraint trigger slow after update on quota deferrable initially deferred
      for each row execute function slow_commit()`);
    try {
      const { confirmation_token: token } = await north.propose('crate_raise', { prefix: 'a' });
      const caller = new AbortController();
      const call = await farm.owner.transaction(async (tx) => {
        await tx.all({ name: 'test.hold', text: 'select pg_advisory_xact_lock(4711)', parameters: [] });
        const asked = north.codeOf('crate_raise', { prefix: 'a' }, { token, signal: caller.signal });
        await waitsForLock('commit%');
        caller.abort();
        return { asked };
      });
      expect(await call.asked).toBe('ran');
      expect(await farm.look('a')).toEqual([2]);
      expect(await south.codeOf('crate_raise', { prefix: 'a' }, { token })).toBe('already_done');
      expect((await audit()).map(({ outcome }) => outcome)).toEqual(['ok']);
    } finally {
      await farm.sql('drop trigger slow on quota');
    }
  });
});

describe('the farm itself', () => {
  const clock = { kind: 'system' as const, id: 'clock', name: 'clock' };
  const asked = { door: 'internal' as const, principal: clock };

  it('A1.7 A1.5 runs a mutation that is stated for it, and no other; what it ran is audited as its own', async () => {
    await farm.crates('a', 1);
    expect(await north.codeOf('crate_raise', { prefix: 'a' }, asked)).toBe('not_confirmed');
    expect([north.yard.runs, await audit()]).toEqual([[], []]);
    expect(await north.ask('crate_index', { prefix: 'a' }, asked)).toEqual({ raised: 1 });
    expect(await north.codeOf('crate_count', { prefix: 'a' }, asked)).toBe('ran');
    expect(await farm.sql('select kind, door, class, actor, agent_id, outcome from audit')).toEqual([
      { kind: 'call:crate_index', door: 'internal', class: 'system', actor: 'clock', agent_id: null, outcome: 'ok' },
    ]);
    expect(await north.codeOf('crate_index', { prefix: 'a' }, { ...asked, confirm: true })).toBe('invalid_input');
  });
});

/** Every row of every table, as text. */
async function dumpOf(): Promise<string> {
  const tables = await farm.sql<{ name: string }>(
    `select quote_ident(relname) as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`,
  );
  const dumps = await Promise.all(tables.map(({ name }) => farm.sql(`select t::text from ${name} t`)));
  return JSON.stringify(dumps);
}

async function waitsForLock(query: string): Promise<void> {
  await waitUntil(async () => {
    const [row] = await farm.sql<{ n: number }>(
      `select count(*)::int as n from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock' and query ilike '${query}'`,
    );
    return (row?.n ?? 0) > 0;
  });
}
