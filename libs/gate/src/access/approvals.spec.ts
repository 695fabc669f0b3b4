import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { beginGeneration } from '#store';
import {
  aConsentingFarm,
  anAssistantOf,
  aPerson,
  type ConsentingFarm,
  type ConsentingGate,
} from '../../../../test/support/consenting-gates.js';
import { decideApproval, forgetApprovals, listApprovals, previewDecision } from './approvals.js';

let farm: ConsentingFarm;
let north: ConsentingGate;
let south: ConsentingGate;
beforeAll(async () => {
  farm = await aConsentingFarm();
  [north, south] = [farm.aGate(), farm.aGate()];
});
afterAll(() => farm.close());
beforeEach(async () => {
  await farm.sql('truncate quota, ticket, audit, receipt, approval');
  await farm.crates('a', 1);
  for (const { yard } of [north, south]) yard.runs.length = 0;
});

const asked = { prefix: 'a' };
const propose = (input: object = asked, by = {}) => north.propose('crate_give', input, by);
const confirm = (token: string, input: object = asked) => south.codeOf('crate_give', input, { token });
const decide = (approval_id: string, decision: 'approve' | 'refuse', person = aPerson('p_boss')) =>
  south.database.transaction((tx) => decideApproval(tx, person, { approval_id, decision }));
const pending = () => listApprovals(south.database, { state: 'pending', limit: 100 });
const other = anAssistantOf('p_bbbbbbbb');

describe('what a person must approve', () => {
  it('A1.9 is not done by the agent’s own second look', async () => {
    const { confirmation_token, approval_id } = await propose();
    expect(approval_id).toMatch(/^ap_/);
    expect(await confirm(confirmation_token)).toBe('awaiting_approval');
    expect([await farm.look('a'), south.yard.runs]).toEqual([[1], []]);
    expect(await farm.sql('select kind from audit')).toEqual([]);
  });

  it('A1.9 is done once a person has approved it, once', async () => {
    const { confirmation_token, approval_id = '' } = await propose();
    expect(await decide(approval_id, 'approve')).toBe('approved');
    expect(await confirm(confirmation_token)).toBe('ran');
    expect(await farm.look('a')).toEqual([2]);
    const again = await propose();
    expect(again.approval_id).not.toBe(approval_id);
    expect(await confirm(again.confirmation_token)).toBe('awaiting_approval');
    expect(await farm.sql(`select state from approval order by created_at`)).toEqual([
      { state: 'used' },
      { state: 'pending' },
    ]);
  });

  it('A1.9 waits for one answer, however often the very same is proposed', async () => {
    const first = await propose();
    expect(await confirm(first.confirmation_token)).toBe('awaiting_approval');
    const second = await propose({ by: 1, prefix: 'a' });
    expect(second.approval_id).toBe(first.approval_id);
    await decide(first.approval_id ?? '', 'approve');
    expect((await propose()).approval_id).toBe(first.approval_id);
    expect(await confirm(second.confirmation_token)).toBe('ran');
  });

  it.each([
    ['another input', { prefix: 'a', by: 2 }, {}],
    ['another caller', { prefix: 'a' }, other],
  ])('A1.9 is nothing for %s', async (_, input, by) => {
    const { approval_id = '' } = await propose();
    await decide(approval_id, 'approve');
    const { confirmation_token, approval_id: fresh } = await propose(input, by);
    expect(fresh).not.toBe(approval_id);
    expect(await south.codeOf('crate_give', input, { token: confirmation_token, ...by })).toBe('awaiting_approval');
  });

  it('A1.9 A6.16 is nothing for a world that has moved', async () => {
    const { confirmation_token, approval_id = '' } = await propose();
    await decide(approval_id, 'approve');
    await farm.crates('a', 1, 5);
    expect(await confirm(confirmation_token)).toBe('changed_since_proposal');
    const { confirmation_token: token, approval_id: fresh } = await propose();
    expect(fresh).not.toBe(approval_id);
    expect(await confirm(token)).toBe('awaiting_approval');
    expect(await farm.look('a')).toEqual([5]);
  });

  it('A6.19 is approved by nothing that an agent or its client says', async () => {
    const { confirmation_token: token } = await propose();
    const accepted = { token, confirm: true };
    expect(await north.codeOf('crate_give', asked, accepted)).toBe('invalid_input');
    for (let turn = 0; turn < 3; turn += 1)
      expect(await confirm((await propose()).confirmation_token)).toBe('awaiting_approval');
    expect(south.yard.runs).toEqual([]);
  });

  it('A1.9 is one effect of two tokens that are shown at once', async () => {
    const tokens = [await propose(), await propose()];
    await decide(tokens[0]?.approval_id ?? '', 'approve');
    const codes = await Promise.all(tokens.map(({ confirmation_token }) => confirm(confirmation_token)));
    expect(codes.filter((code) => code === 'ran')).toHaveLength(1);
    expect(await farm.look('a')).toEqual([2]);
  });

  it('A1.9 may be refused, and the agent hears it', async () => {
    const { confirmation_token, approval_id = '' } = await propose();
    expect(await decide(approval_id, 'refuse')).toBe('refused');
    expect(await confirm(confirmation_token)).toBe('not_allowed');
    expect(await farm.look('a')).toEqual([1]);
  });

  it('needs no other approval where a person does it', async () => {
    expect(await north.codeOf('crate_give', asked, { door: 'cli', confirm: true })).toBe('ran');
    expect(await pending()).toEqual([]);
  });

  it('H42 is void in another life of the farm, and after a day', async () => {
    const first = await propose();
    await decide(first.approval_id ?? '', 'approve');
    await farm.sql(`update farm_clock set ticked_at = clock_timestamp() - interval '6 s'`);
    await beginGeneration(south.database);
    const second = await propose();
    expect(second.approval_id).not.toBe(first.approval_id);
    expect(await confirm(second.confirmation_token)).toBe('awaiting_approval');
    await farm.sql(`update approval set expires_at = clock_timestamp()`);
    await expect(decide(second.approval_id ?? '', 'approve')).rejects.toMatchObject({ code: 'conflict' });
    expect((await propose()).approval_id).not.toBe(second.approval_id);
  });

  it('A6.13 is sixty-four of one caller at most', async () => {
    const few = farm.aGate({ maxPendingConfirmations: 2 });
    const ask = (note: string, by = {}) => few.codeOf('crate_give', { prefix: 'a', note }, by);
    expect([await ask('1'), await ask('2')]).toEqual(Array(2).fill('confirmation_required'));
    await farm.sql(`update ticket set expires_at = clock_timestamp()`);
    expect([await ask('2'), await ask('3'), await ask('3', other)]).toEqual([
      'confirmation_required',
      'too_many_pending',
      'confirmation_required',
    ]);
  });
});

describe('who decides', () => {
  it('is shown who asks, for what, and what it would change', async () => {
    const { approval_id = '' } = await propose();
    expect(await pending()).toMatchObject([
      {
        approval_id,
        operation: 'crate_give',
        actor: 'p_aaaaaaaa',
        agent_id: null,
        count: 1,
        changes: [{ id: 'a100', before: { max: 1 }, after: { max: 2 } }],
        state: 'pending',
        decided_by: null,
      },
    ]);
    const { summary, changes } = await previewDecision(south.database, { approval_id, decision: 'approve' });
    expect(summary).toContain('crate_give');
    expect(changes).toMatchObject([{ id: approval_id, after: { state: 'approved', count: 1 } }]);
  });

  it('is a person with the role of the operation, and no token of a service', async () => {
    const { approval_id = '' } = await propose();
    await expect(decide(approval_id, 'approve', aPerson('p_low', 'viewer'))).rejects.toMatchObject({
      code: 'not_allowed',
    });
    await expect(decide(approval_id, 'approve', { ...aPerson('p_low'), service: true })).rejects.toMatchObject({
      code: 'not_allowed',
    });
    expect(await pending()).toHaveLength(1);
  });

  it('decides once: the first decision is the last one', async () => {
    const { approval_id = '' } = await propose();
    const outcomes = await Promise.allSettled(
      (['approve', 'refuse', 'approve'] as const).map((decision) => decide(approval_id, decision)),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    await expect(decide(approval_id, 'approve')).rejects.toMatchObject({ code: 'conflict' });
    await expect(decide('ap_00000000', 'approve')).rejects.toMatchObject({ code: 'not_found' });
  });

  it('is remembered for a month after its end', async () => {
    await propose();
    expect(await forgetApprovals(south.database)).toBe(0);
    await farm.sql(`update approval set expires_at = clock_timestamp() - interval '31 days'`);
    expect(await forgetApprovals(south.database)).toBe(1);
  });
});
