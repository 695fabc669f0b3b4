import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { beginGeneration } from '#store';
import { aConsentingFarm, type ConsentingFarm } from '../../../../test/support/consenting-gates.js';
import { testRun, withClient } from '../../../../test/support/test-run.js';

let farm: ConsentingFarm;
beforeAll(async () => {
  farm = await aConsentingFarm();
});
afterAll(() => farm.close());

/** Whole databases are copied and renamed, while nobody is connected. */
async function whileDown(...statements: readonly string[]): Promise<void> {
  await farm.closeGates();
  await farm.owner.close();
  await withClient(testRun().ownerUrl, async (client) => {
    for (const statement of statements) await client.query(statement);
  });
  farm.reopen();
}

it('H42 A6.8 a token that was used is refused where the database is put back to before its use', async () => {
  const { name } = farm.copy;
  await farm.crates('a', 1);
  const north = farm.aGate();
  const used = await north.propose('crate_raise', { prefix: 'a' });
  const open = await north.propose('crate_raise', { prefix: 'a' });
  const approved = await north.propose('crate_give', { prefix: 'a' });
  await farm.sql(`update approval set state = 'approved', decided_at = clock_timestamp()`);

  await whileDown(`create database ${name}_kept template ${name}`);
  expect(await farm.aGate().codeOf('crate_raise', { prefix: 'a' }, { token: used.confirmation_token })).toBe('ran');
  expect(await farm.look('a')).toEqual([2]);

  await whileDown(`drop database ${name}`, `alter database ${name}_kept rename to ${name}`);
  await farm.sql(`update farm_clock set ticked_at = clock_timestamp() - interval '6 s'`);
  const south = farm.aGate();
  await beginGeneration(south.database);
  expect(await farm.look('a')).toEqual([1]);
  for (const { confirmation_token: token } of [used, open])
    expect(await south.codeOf('crate_raise', { prefix: 'a' }, { token })).toBe('confirmation_invalid');
  expect(await south.codeOf('crate_give', { prefix: 'a' }, { token: approved.confirmation_token })).toBe(
    'confirmation_invalid',
  );
  expect([south.yard.runs, await farm.look('a')]).toEqual([[], [1]]);
});
