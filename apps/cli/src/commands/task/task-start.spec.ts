import { describe, expect, it } from '@jest/globals';
import { runCli } from '../../../../../test/support/answering-farm.js';
import { tempDir } from '../../../../../test/support/temp-dir.js';

/** No farm is asked: all of it is seen here. */
const start = (...words: readonly string[]) =>
  runCli(['task', 'start', '--empty', ...words, 'Do it.'], { cwd: tempDir('cwd'), env: { HOME: tempDir('home') } });

describe('task start', () => {
  it.each([
    [['--verify', 'npm test', '--no-verify'], '--verify and --no-verify contradict each other'],
    [['--no-verify', '--verify', 'npm test'], '--verify and --no-verify contradict each other'],
    [['--budget', '5usd', '--budget', '$7'], '--budget names usd twice'],
    [['--budget', '1Mtokens,2Mtokens'], '--budget names tokens twice'],
    [['--budget', 'much'], '--budget is no budget'],
    [['--budget', '0usd'], '--budget/usd: must be at least 0.01'],
    [['--priority', '101'], '--priority: must be at most 100'],
    [['--verify-timeout', '0'], '--verify-timeout: must be at least 1'],
  ])('says what is wrong with %j, by the flag and its bounds', async (words, told) => {
    const { exit, stderr } = await start(...words);
    expect(stderr).toContain(told);
    expect(exit).toBe(2);
  });
});
