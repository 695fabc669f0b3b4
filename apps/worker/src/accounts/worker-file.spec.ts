import { chmodSync, chownSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { FarmError } from '#contracts';
import { tempDir } from '../../../../test/support/temp-dir.js';
import { loginFolder, pathIn, readKey, readWorkerFile } from './worker-file.js';

function aHome(text?: string): string {
  const home = tempDir('worker');
  if (text !== undefined) writeFileSync(join(home, 'worker.yaml'), text, { mode: 0o600 });
  return home;
}

const isRoot = process.getuid?.() === 0;

async function refusalOf(promise: Promise<unknown>): Promise<FarmError> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof FarmError) return error;
  throw new Error('it was not refused');
}

describe('worker.yaml', () => {
  it('may be missing or empty', async () => {
    const nothing = { accounts: {}, prices: {}, sandbox: {}, disk: {}, workspaces: { roots: [] } };
    expect(await readWorkerFile(aHome())).toEqual(nothing);
    expect(await readWorkerFile(aHome('# nothing yet\n'))).toEqual(nothing);
  });

  it('counts as no empty one where it can not be read to its end, so that no wall is silently dropped', async () => {
    const level = (name: string, of: string) => `${name}: &${name} [${Array(20).fill(of).join(', ')}]`;
    const bomb = ['sandbox: {rung: bwrap, hidden: [/secret]}', level('a', 'x'), level('b', '*a'), level('c', '*b')];
    const unknown = ['sandbox: {rung: bwrap, hidden: *nowhere}'];
    for (const lines of [[...bomb, level('d', '*c')], unknown])
      expect(await refusalOf(readWorkerFile(aHome(lines.join('\n'))))).toMatchObject({ code: 'misconfigured' });
  });

  it('gives each account a login folder of its own, within the home', () => {
    const names = ['a/b', 'a_b', 'a:b', 'a.b', 'a-b', 'a/b/..'];
    const folders = names.map((name) => loginFolder('/home/worker', name));
    expect(new Set(folders).size).toBe(names.length);
    for (const folder of folders) expect(folder).toMatch(/^\/home\/worker\/logins\/[^/]+$/);
  });

  it('names accounts by login, by key and by command', async () => {
    const home = aHome(
      [
        'accounts:',
        '  work: {provider: claude, login: ~/logins/work, models: [sonnet], failover: [backup]}',
        '  backup: {provider: claude, key: {file: backup.key}, upstream: "https://gateway.example", use: named}',
        '  other: {provider: acp, command: [/usr/bin/agent, --acp], environment: {MODE: fast}}',
        'sandbox: {rung: bwrap, unsafe: false}',
      ].join('\n'),
    );
    const { accounts, sandbox } = await readWorkerFile(home);
    expect(Object.keys(accounts)).toEqual(['work', 'backup', 'other']);
    expect(accounts.work).toMatchObject({ provider: 'claude', use: 'any', failover: ['backup'] });
    expect(sandbox).toEqual({ rung: 'bwrap', unsafe: false });
    expect(pathIn(home, '~/logins/work')).toBe(join(homedir(), 'logins/work'));
    expect(pathIn(home, 'backup.key')).toBe(join(home, 'backup.key'));
  });

  it('tells all that is wrong at once, each with its line, and no value', async () => {
    const home = aHome(
      [
        'accounts:',
        '  work:',
        '    provider: claude',
        '    login: /a',
        '    key: {env: SECRET_canary}',
        '    failover: [gone]',
        '  agent: {provider: acp}',
        '  Bad Name: {provider: codex}',
        'unknown: 1',
      ].join('\n'),
    );
    const { code, detail } = await refusalOf(readWorkerFile(home));
    expect(code).toBe('misconfigured');
    expect(detail).toContain('line 9: There is no unknown here');
    expect(detail).toContain('line 8');
    expect(detail).not.toContain('canary');
    const other = aHome(
      'accounts:\n  work:\n    provider: claude\n    login: /a\n    key: {env: X}\n    failover: [gone]\n  agent: {provider: acp}\n',
    );
    const { detail: second } = await refusalOf(readWorkerFile(other));
    expect(second).toMatch(
      /line 5: .*has a login already.*line 6: .*gone is no other account of claude.*line 7: .*acp needs a command/,
    );
  });

  it('says of an agent of its own choice how it sends its key, and asks for what is missing of that', async () => {
    const agent = (words: string) => aHome(`accounts:\n  agent: {provider: acp, command: [/bin/agent], ${words}}\n`);
    const whole =
      'key: {env: K, name: API_KEY, header: x-api-key}, upstream: "https://api.example", upstream_name: BASE_URL, hosts: [a.example, "*.b.example:8443"], login: ~/.agent';
    const { accounts } = await readWorkerFile(agent(whole));
    expect(accounts.agent).toMatchObject({ upstream_name: 'BASE_URL', key: { header: 'x-api-key' } });
    const wrong = [
      ['key: {env: K, name: N, header: x-api-key}', /name its upstream;.*name its upstream_name/],
      ['key: {env: K, name: N, prefix: "Bearer "}', /has a prefix and no header/],
      ['upstream_name: BASE_URL', /needs upstream/],
      ['hosts: ["https://a.example"]', /hosts/],
    ] as const;
    for (const [words, said] of wrong) expect((await refusalOf(readWorkerFile(agent(words)))).detail).toMatch(said);
    const known = aHome('accounts:\n  a: {provider: claude, key: {env: K, header: x-a}, hosts: [a.example]}\n');
    expect((await refusalOf(readWorkerFile(known))).detail).toMatch(/header and prefix are for acp/);
  });

  (isRoot ? it : it.skip)('is refused where it belongs to somebody else (tried as root)', async () => {
    const home = aHome('accounts: {}\n');
    chownSync(join(home, 'worker.yaml'), 12_345, 12_345);
    expect(await refusalOf(readWorkerFile(home))).toMatchObject({
      code: 'misconfigured',
      detail: expect.stringContaining('belongs to somebody else'),
    });
  });

  it('is refused where others may write it or it is a symlink, and a key where others may read it', async () => {
    const home = aHome('accounts: {}\n');
    chmodSync(join(home, 'worker.yaml'), 0o666);
    expect(await refusalOf(readWorkerFile(home))).toMatchObject({ hint: expect.stringContaining('chmod go-w') });

    const linked = aHome();
    chmodSync(join(home, 'worker.yaml'), 0o600);
    symlinkSync(join(home, 'worker.yaml'), join(linked, 'worker.yaml'));
    expect(await refusalOf(readWorkerFile(linked))).toMatchObject({
      code: 'misconfigured',
      detail: expect.stringContaining('is a symlink'),
    });
    const folder = aHome();
    mkdirSync(join(folder, 'worker.yaml'));
    expect((await refusalOf(readWorkerFile(folder))).detail).toContain('is no file');

    writeFileSync(join(home, 'a.key'), 'sk-canary\n', { mode: 0o644 });
    const refused = await refusalOf(readKey(home, { file: 'a.key' }, {}));
    expect(refused).toMatchObject({ code: 'misconfigured', hint: expect.stringContaining('chmod 600') });
    chmodSync(join(home, 'a.key'), 0o600);
    expect(await readKey(home, { file: 'a.key' }, {})).toBe('sk-canary');
    expect(await readKey(home, { env: 'KEY' }, { KEY: 'sk-2' })).toBe('sk-2');
    for (const reference of [{ file: 'none' }, { env: 'NONE' }])
      expect((await refusalOf(readKey(home, reference, {}))).code).toBe('misconfigured');
    const two = await refusalOf(readKey(home, { env: 'KEY' }, { KEY: 'sk-canary and more' }));
    expect(JSON.stringify(two)).not.toContain('canary');
  });
});
