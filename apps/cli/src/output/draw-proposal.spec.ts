import { afterEach, describe, expect, it } from '@jest/globals';
import { type AnsweringFarm, anAnsweringFarm, problem, runCli } from '../../../../test/support/answering-farm.js';

let farm: AnsweringFarm | undefined;
afterEach(async () => {
  await farm?.close();
  farm = undefined;
});

const job = '3f0f6a52-58a8-4f67-9a3c-0c7f5a1f6b11';

async function refused(proposal: object, words: readonly string[] = ['queue', 'requeue', job]) {
  const detail = 'Takes the lease away';
  farm = await anAnsweringFarm(() =>
    problem('confirmation_required', 409, { detail, hint: 'confirm: true', proposal }),
  );
  return await runCli(words, { env: { LONGSHORE_CREDENTIAL: farm.credential } });
}

describe('an unconfirmed mutation at the command line', () => {
  it('A6.4 A9.5 says how many changes there would be, the first of them with what would differ, and what to type', async () => {
    const changes = [
      { id: job, before: { state: 'leased', pool: 'default' }, after: { state: 'queued', pool: 'default' } },
      { id: 'b', before: null, after: { offered: true } },
      { id: 'c', before: 'on', after: null },
    ];
    const ran = await refused({ summary: 'Takes the lease away', changes, count: 57 });
    expect([ran.exit, ran.stdout]).toEqual([5, '']);
    expect(ran.stderr.split('\n').map((line) => line.replace(/ {2,}/g, '  '))).toEqual([
      'confirmation_required: Takes the lease away',
      '  it would change 57 things, of which 3 are shown',
      '  what  before  after',
      `  ${job}  state leased  state queued`,
      '  b  –  offered true',
      '  c  on  –',
      `  → longshore queue requeue ${job} --yes`,
      '',
    ]);
  });

  it('says so where nothing would change, and draws what another version says', async () => {
    expect((await refused({ summary: 's', changes: [], count: 0 })).stderr).toContain('  it would change nothing\n');
    await farm?.close();
    expect((await refused({ other: 'thing' })).stderr).toContain('  would other thing\n');
  });

  it('H38 shows what comes from outside without anything that a terminal obeys', async () => {
    const changes = [{ id: 'a\u001b[2J', before: 'x\u202e', after: 'y\u0007' }];
    const { stderr } = await refused({ summary: 's', changes, count: 1 });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that a terminal obeys
    expect(stderr).not.toMatch(/[\u001b\u0007\u202e]/);
  });

  it('quotes for a shell what must be typed again, and does not repeat a document', async () => {
    const empty = { summary: 's', changes: [], count: 1 };
    const typed = async (...words: string[]) => {
      const { stderr } = await refused(empty, words);
      await farm?.close();
      return stderr.split('→ ')[1]?.trim();
    };
    expect(await typed('quota', 'set', 'global', 'none', '--idempotency-key', `it's $HOME`)).toBe(
      `longshore quota set global none --idempotency-key 'it'\\''s $HOME' --yes`,
    );
    expect(await typed('quota', 'set', '--', 'global', '3')).toBe('longshore quota set --yes -- global 3');
    expect(await typed('quota', 'set', 'global', '3', '--idempotency-key', 'k'.repeat(500))).toBe(
      'the same command with --yes',
    );
  });
});
