import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { FarmError } from '#contracts';
import { tempDir } from '../../../../test/support/temp-dir.js';
import { openLog } from '../log.js';
import type { AvailabilityWish, Provider } from '../provider/port.js';
import { Accounts } from './accounts.js';
import { ownersEnvironment } from './owners-environment.js';

/** A provider that says what it was asked with. */
function aProvider(name: string, usable = true) {
  const asked: AvailabilityWish[] = [];
  const provider: Provider = {
    name,
    resumes: false,
    async availability(wish = {}) {
      asked.push(wish);
      return usable ? { usable } : { usable, code: 'auth', reason: 'It is not logged in.', fix: 'Log in.' };
    },
    start: () => Promise.reject(new Error('not started here')),
  };
  return { provider, asked };
}

async function open(
  text: string,
  providers: readonly Provider[],
  more: { environment?: Record<string, string>; requireWalls?: () => void; host?: string } = {},
) {
  const home = tempDir('worker');
  writeFileSync(join(home, 'worker.yaml'), text, { mode: 0o600 });
  const accounts = await Accounts.open({
    home,
    host: more.host ?? 'Lap Top.local',
    providers: new Map(providers.map((provider) => [provider.name, provider])),
    environment: more.environment ?? {},
    requireWalls: more.requireWalls ?? (() => {}),
    log: openLog('silent'),
  });
  return { accounts, home };
}

describe('the accounts of a worker', () => {
  it("are those of its owner's file, in their order, with what each lacks", async () => {
    const claude = aProvider('claude');
    const codex = aProvider('codex', false);
    const { accounts } = await open(
      'accounts:\n  work: {provider: claude, login: /logins/work, failover: [key]}\n  key: {provider: claude, key: {env: KEY}, use: named}\n  c: {provider: codex}\n',
      [claude.provider, codex.provider],
      { environment: { KEY: 'sk-canary' } },
    );
    await accounts.look();
    expect(accounts.offers).toEqual([
      { name: 'work', provider: 'claude', usable: true, billing: 'plan', use: 'any', failover: ['key'] },
      { name: 'key', provider: 'claude', usable: true, billing: 'metered', use: 'named', failover: [] },
      {
        name: 'c',
        provider: 'codex',
        usable: false,
        reason: 'It is not logged in. Log in.',
        billing: 'plan',
        use: 'any',
        failover: [],
      },
    ]);
    expect(JSON.stringify(accounts.offers)).not.toContain('canary');
    expect(claude.asked.map(({ account }) => account)).toEqual([
      { name: 'work', environment: { CLAUDE_CONFIG_DIR: '/logins/work' }, secrets: {}, billing: 'plan' },
      { name: 'key', environment: {}, secrets: { ANTHROPIC_API_KEY: 'sk-canary' }, billing: 'metered' },
    ]);
  });

  it('that a provider refused are offered no more, with the way out, until another login or key would be shown', async () => {
    const { accounts, home } = await open(
      'accounts:\n  work: {provider: claude, login: login}\n  key: {provider: codex, key: {file: key}}\n',
      [aProvider('claude').provider, aProvider('codex').provider],
    );
    mkdirSync(join(home, 'login'));
    writeFileSync(join(home, 'key'), 'sk-old', { mode: 0o600 });
    await accounts.look();
    for (const name of ['work', 'key']) await accounts.refuse(name);
    const [work, key] = accounts.offers;
    expect(work).toMatchObject({
      usable: false,
      reason: expect.stringContaining('longshore worker login claude work'),
    });
    expect(key).toMatchObject({ usable: false, reason: expect.stringContaining('longshore provider check key') });
    await accounts.look();
    expect(accounts.offers).toEqual([work, key]);
    writeFileSync(join(home, 'login', '.credentials.json'), '{}');
    await accounts.look();
    expect(accounts.offers.map(({ usable }) => usable)).toEqual([true, false]);
    writeFileSync(join(home, 'key'), 'sk-new', { mode: 0o600 });
    await accounts.look();
    expect(accounts.offers.map(({ usable }) => usable)).toEqual([true, true]);
    expect(JSON.stringify([work, key])).not.toContain('sk-old');
  });

  it('are none where their file has a mistake from the start, and the last ones where it came later; both are told with line and key', async () => {
    const wrong = 'sandbox: {rung: process}\naccounts:\n  work: {provider: claude, modell: [a]}\n';
    const right = 'accounts:\n  work: {provider: claude}\n';
    const { accounts, home } = await open(wrong, [aProvider('claude').provider, aProvider('codex').provider]);
    await accounts.look();
    expect(accounts.offers).toEqual([]);
    const told = /worker\.yaml does not hold\. line 3: There is no modell here/;
    expect(accounts.trouble).toMatch(told);
    expect(accounts.trouble).toContain('No accounts');
    const walls = await ownersEnvironment({ LONGSHORE_WORKER_HOME: home });
    expect(walls).toMatchObject({ LONGSHORE_SANDBOX: 'process' });

    writeFileSync(join(home, 'worker.yaml'), right, { mode: 0o600 });
    await accounts.look();
    expect(accounts.trouble).toBeUndefined();
    const names = accounts.offers.map(({ name }) => name);
    expect(names).toContain('work');
    writeFileSync(join(home, 'worker.yaml'), wrong, { mode: 0o600 });
    await accounts.look();
    expect(accounts.offers.map(({ name }) => name)).toEqual(names);
    expect(accounts.trouble).toMatch(told);
    // nobody guesses at walls
    writeFileSync(join(home, 'worker.yaml'), 'sandbox: {rung: paper}\n', { mode: 0o600 });
    await expect(ownersEnvironment({ LONGSHORE_WORKER_HOME: home })).rejects.toMatchObject({ code: 'misconfigured' });
  });

  it("are the owner's own logins of providers that the file does not name, each a name of this machine", async () => {
    const { accounts } = await open(
      '',
      [aProvider('claude').provider, aProvider('codex', false).provider, aProvider('scripted').provider],
      {
        environment: { CODEX_HOME: '/own/codex' },
      },
    );
    expect(accounts.names).toEqual(['claude.lap-top.local', 'codex.lap-top.local']);
    expect((await accounts.ready('claude.lap-top.local')).account).toMatchObject({ environment: {}, secrets: {} });
    expect((await accounts.ready('codex.lap-top.local')).account.environment).toEqual({ CODEX_HOME: '/own/codex' });
  });

  it('can not be used without their key, for a model that is not theirs, or by a name that is not there', async () => {
    const { accounts } = await open(
      'accounts:\n  work: {provider: claude, key: {env: KEY}}\n  narrow: {provider: claude, models: [small]}\n',
      [aProvider('claude').provider],
    );
    await accounts.look();
    expect(accounts.offers[0]).toMatchObject({
      usable: false,
      reason: expect.stringContaining('KEY of the worker is not set'),
    });
    await expect(accounts.ready('narrow', 'large')).rejects.toMatchObject({ code: 'misconfigured' });
    await expect(accounts.ready('narrow', 'small')).resolves.toMatchObject({ account: { name: 'narrow' } });
    await expect(accounts.ready('other')).rejects.toMatchObject({ code: 'misconfigured' });
  });

  it('H28 are not offered on a machine without walls, and the reason is told', async () => {
    const requireWalls = () => {
      throw new FarmError('misconfigured', 'The sandbox does not work here.', { hint: 'Install bubblewrap.' });
    };
    const { accounts } = await open('accounts: {work: {provider: claude}}', [aProvider('claude').provider], {
      requireWalls,
    });
    await accounts.look();
    expect(accounts.offers).toMatchObject([
      { usable: false, reason: 'The sandbox does not work here. Install bubblewrap.' },
    ]);
  });

  it('follow their file while the worker runs, as long as it holds', async () => {
    const { accounts, home } = await open('', [aProvider('claude').provider]);
    writeFileSync(join(home, 'worker.yaml'), 'accounts: {work: {provider: claude}}\n');
    await accounts.look();
    expect(accounts.offers.map(({ name }) => name)).toEqual(['work']);
    writeFileSync(join(home, 'worker.yaml'), 'accounts: {work: {provider: nobody}}\n');
    await accounts.look();
    expect(accounts.offers.map(({ name }) => name)).toEqual(['work']);
  });

  it('take an ACP agent with its arguments', async () => {
    const { accounts } = await open(
      'accounts:\n  agent: {provider: acp, command: [/bin/agent, --acp], key: {env: KEY, name: AGENT_KEY}}\n',
      [aProvider('acp').provider],
      { environment: { KEY: 'k' } },
    );
    expect(await accounts.ready('agent')).toMatchObject({
      program: '/bin/agent',
      arguments: ['--acp'],
      account: { secrets: { AGENT_KEY: 'k' } },
    });
  });
});
