import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { FarmError } from '#contracts';
import { tempDir } from '../../../../test/support/temp-dir.js';
import { openLog } from '../log.js';
import type { AvailabilityWish, Provider } from '../provider/port.js';
import { Accounts } from './accounts.js';

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
