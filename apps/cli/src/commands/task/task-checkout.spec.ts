import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { bundleCheckout } from '#git';
import { type AnsweringFarm, anAnsweringFarm, runCli } from '../../../../../test/support/answering-farm.js';
import { aRepository, commitFiles, plainGit } from '../../../../../test/support/repositories.js';
import { aTaskOverview } from '../../../../../test/support/task-overview.js';
import { tempDir } from '../../../../../test/support/temp-dir.js';

let farm: AnsweringFarm | undefined;
afterEach(() => farm?.close());

const task = 't_00000000';
const branch = `longshore/${task}`;

/** A user's repository, and a farm that holds a Result made from it. */
async function aResult() {
  const repository = aRepository({ 'a.txt': 'one\n' });
  const base = plainGit(repository, ['rev-parse', 'HEAD']);
  const elsewhere = tempDir('elsewhere');
  plainGit(elsewhere, ['clone', '-q', repository, 'work']);
  const work = join(elsewhere, 'work');
  const commit = commitFiles(work, { 'a.txt': 'two\n', 'b.txt': 'new\n' }, 'Result');
  const { bundle } = await bundleCheckout({ dir: work, out: join(elsewhere, 'result.bundle') });
  farm = await anAnsweringFarm(({ path }) => {
    if (path === `/v1/tasks/${task}/bundle`) return { file: bundle };
    return { json: { result: view(base, commit) } };
  });
  const run = (...words: readonly string[]) =>
    runCli(['task', 'checkout', task, '--json', ...words], {
      cwd: repository,
      env: { LONGSHORE_CREDENTIAL: farm?.credential ?? '' },
    });
  return { repository, base, commit, run };
}

const view = (base: string, commit: string) =>
  aTaskOverview(task, {
    status: 'completed',
    product_status: 'completed',
    ended_at: '',
    result: {
      outcome: 'green',
      summary: 'done',
      details: null,
      files: [],
      branch,
      commit,
      base,
      files_changed: [],
      files_changed_total: 2,
      isolation: null,
      usage: null,
      completed_at: '',
    },
  });

describe('task checkout', () => {
  it('D24 makes the branch, leaves the working tree as it is, and says the command that shows the changes', async () => {
    const { repository, commit, run } = await aResult();
    writeFileSync(join(repository, 'a.txt'), 'my own unfinished work\n');
    const ran = await run();
    expect(ran.exit).toBe(0);
    expect(plainGit(repository, ['rev-parse', branch])).toBe(commit);
    expect(plainGit(repository, ['branch', '--show-current'])).toBe('main');
    expect(readFileSync(join(repository, 'a.txt'), 'utf8')).toBe('my own unfinished work\n');
    const { diff } = JSON.parse(ran.stdout);
    const shown = execFileSync('/bin/sh', ['-c', `${diff} --name-only`], { encoding: 'utf8' });
    expect(shown.trim().split('\n')).toEqual(['a.txt', 'b.txt']);
  });

  it('D24 switches with --switch on a clean working tree', async () => {
    const { repository, run } = await aResult();
    const ran = await run('--switch');
    expect([ran.exit, JSON.parse(ran.stdout).switched]).toEqual([0, true]);
    expect(plainGit(repository, ['branch', '--show-current'])).toBe(branch);
    expect(readFileSync(join(repository, 'a.txt'), 'utf8')).toBe('two\n');
  });

  it('D24 refuses --switch on a working tree with changes, and touches nothing', async () => {
    const { repository, run } = await aResult();
    writeFileSync(join(repository, 'a.txt'), 'my own unfinished work\n');
    const ran = await run('--switch');
    expect(ran.exit).toBe(6);
    expect(plainGit(repository, ['branch', '--list', branch])).toBe('');
    expect(readFileSync(join(repository, 'a.txt'), 'utf8')).toBe('my own unfinished work\n');
  });
});
