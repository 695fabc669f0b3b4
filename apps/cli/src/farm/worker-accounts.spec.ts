import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { buildOnce } from '../../../../test/support/build.js';
import { tempDir } from '../../../../test/support/temp-dir.js';
import { accountVariables } from './account-variables.js';
import { askWorkerAccounts, workerHomeOf } from './worker-accounts.js';

beforeAll(() => buildOnce());

const signal = new AbortController().signal;
const anything = z.record(z.string(), z.unknown());

function aHome(text: string): string {
  const home = tempDir('worker');
  chmodSync(home, 0o700);
  writeFileSync(join(home, 'worker.yaml'), text, { mode: 0o600 });
  return home;
}

describe('the accounts of the worker on this machine', () => {
  it('are tried with a real turn each, which says what it used', async () => {
    const home = aHome('accounts: {demo: {provider: scripted, billing: plan}}\n');
    const answer = await askWorkerAccounts({ home, args: ['check', 'demo'], env: process.env, signal }, anything);
    expect(answer.accounts).toEqual([
      expect.objectContaining({
        account: 'demo',
        provider: 'scripted',
        usable: true,
        usage: expect.objectContaining({ requests: 1 }),
      }),
    ]);
  }, 60_000);

  it('tell what is wrong with their file and which there are', async () => {
    const home = aHome('accounts: {demo: {provider: scripted}}\n');
    await expect(
      askWorkerAccounts({ home, args: ['check', 'other'], env: process.env, signal }, anything),
    ).rejects.toMatchObject({ code: 'not_found', hint: expect.stringContaining('demo') });
    writeFileSync(join(home, 'worker.yaml'), 'accounts: {demo: {provider: nobody}}\n');
    await expect(askWorkerAccounts({ home, args: ['list'], env: process.env, signal }, anything)).rejects.toMatchObject(
      { code: 'misconfigured', message: expect.stringContaining('line 1') },
    );
  }, 60_000);

  it("are logged in by the provider's own program, in a folder of their own", async () => {
    const home = aHome('');
    const bin = join(tempDir('bin'), 'bin');
    mkdirSync(bin);
    const script =
      '#!/bin/sh\n[ "$1 $2" = "auth login" ] && [ -z "$CANARY" ] && echo logged in > "$CLAUDE_CONFIG_DIR/login"\n';
    writeFileSync(join(bin, 'claude'), script, { mode: 0o755 });
    const path = process.env.PATH;
    process.env.PATH = `${bin}:${path}`;
    process.env.CANARY = 'x';
    try {
      const args = ['login', 'claude', 'work'];
      const answer = await askWorkerAccounts({ home, args, env: process.env, signal }, anything);
      const folder = join(home, 'logins', 'work');
      expect(answer).toEqual({ folder, entry: expect.stringContaining('work: {provider: claude') });
      expect(readFileSync(join(folder, 'login'), 'utf8')).toBe('logged in\n');
      expect(statSync(folder).mode & 0o777).toBe(0o700);
      await expect(
        askWorkerAccounts({ home, args: ['login', 'acp'], env: process.env, signal }, anything),
      ).rejects.toMatchObject({ code: 'invalid_input' });
    } finally {
      process.env.PATH = path;
      delete process.env.CANARY;
    }
  }, 60_000);

  it('get from our environment the variables that their file names, and no other', async () => {
    const home = aHome('accounts: {a: {provider: claude, key: {env: MY_KEY}}, b: {key: {env: LONGSHORE_X}}}\n');
    const env = { MY_KEY: 'k', OTHER: 'o', LONGSHORE_X: 'x', CODEX_HOME: '/c' };
    expect(await accountVariables(home, env)).toEqual({ MY_KEY: 'k', CODEX_HOME: '/c', CLAUDE_CONFIG_DIR: undefined });
  });

  it('are those of the joined worker, or of the only one of this farm', () => {
    const data = tempDir('data');
    expect(workerHomeOf(data, {})).toBe(join(data, 'worker'));
    mkdirSync(join(data, 'workers', 'one'), { recursive: true });
    expect(workerHomeOf(data, {})).toBe(join(data, 'workers', 'one'));
    mkdirSync(join(data, 'workers', 'two'));
    expect(() => workerHomeOf(data, {})).toThrow('several workers');
    expect(workerHomeOf(data, { LONGSHORE_WORKER_HOME: '/w' })).toBe('/w');
  });
});
