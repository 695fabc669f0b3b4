import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { aDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { processesWith } from '../../../../test/support/inspect.js';
import { trackPid } from '../../../../test/support/processes.js';
import { tempDir } from '../../../../test/support/temp-dir.js';
import { isAlive } from './process-mark.js';
import { givenByEnvironment, type Services, type ServicesOptions, startServices } from './services.js';

let database: TestDatabase;

beforeAll(async () => {
  database = await aDatabase();
});

async function start(options: ServicesOptions): Promise<Services> {
  const services = await startServices(options);
  for (const { pid } of services.started) trackPid(pid);
  return services;
}

const given = { url: 'nats://user:s%2Fcret@127.0.0.1:4222' };

describe('the services', () => {
  it('are two servers of our own that end when asked', async () => {
    const services = await start({ data: tempDir() });
    expect(services.started.map(({ name }) => name).sort()).toEqual(['nats', 'postgres']);
    expect(services.database).toMatchObject({ appRole: 'longshore_app' });
    expect(services.nats).toMatchObject({ login: { kind: 'creds' }, accountSeed: expect.stringMatching(/^SA/) });
    const marks = services.started.map(({ pid }) => trackPid(pid));

    await services.stop();

    expect(marks.map(isAlive)).toEqual([false, false]);
  });

  it('leave nothing running when one of them fails', async () => {
    const data = tempDir();
    const holder = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => holder.once('listening', resolve));
    const address = holder.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    try {
      await expect(start({ data, ports: { nats: port } })).rejects.toMatchObject({ code: 'port_taken' });
      expect(processesWith(data)).toEqual([]);
    } finally {
      holder.close();
    }
    const services = await start({ data });
    expect(services.started.map(({ reused }) => reused)).toEqual([false, false]);
    await services.stop();
  });

  it('can be existing ones, which are not ended', async () => {
    const services = await start({ data: tempDir(), database, nats: given });
    expect(services.started).toEqual([]);
    expect(services.database).toEqual({
      ownerUrl: database.ownerUrl,
      appUrl: database.appUrl,
      appRole: 'longshore_app',
    });
    expect(services.nats).toEqual({
      url: 'nats://127.0.0.1:4222',
      login: { kind: 'password', user: 'user', password: 's/cret' },
      accountSeed: undefined,
    });
    await services.stop();
  });

  it('take a creds file and the account’s seed for an existing nats-server', async () => {
    const data = tempDir();
    writeFileSync(join(data, 'farm.creds'), 'the creds');
    writeFileSync(join(data, 'seed'), 'SAXXX\n');
    const env = {
      NATS_URL: 'tls://nats.example.com:4222',
      NATS_CREDS: join(data, 'farm.creds'),
      NATS_ACCOUNT_SEED_FILE: join(data, 'seed'),
    };
    const { nats } = await start({ data, ...givenByEnvironment(env), database });
    expect(nats).toEqual({
      url: 'tls://nats.example.com:4222',
      login: { kind: 'creds', creds: 'the creds' },
      accountSeed: 'SAXXX',
    });
  });

  it('do not change the password of a role that another farm may be using', async () => {
    const { ownerUrl } = database;
    await expect(start({ data: tempDir(), database: { ownerUrl }, nats: given })).rejects.toMatchObject({
      code: 'misconfigured',
      hint: expect.stringContaining('DATABASE_APP_URL'),
    });
  });

  const refusals: readonly (readonly [string, NodeJS.ProcessEnv, string, RegExp])[] = [
    ['an address that is none', { DATABASE_URL: 'a-canary' }, 'misconfigured', /DATABASE_URL/],
    [
      'a server that does not answer',
      { DATABASE_URL: 'postgres://u:a-canary@127.0.0.1:9/d' },
      'unavailable',
      /DATABASE_URL/,
    ],
    ['a nats-server address that is none', { NATS_URL: 'http://u:a-canary@127.0.0.1' }, 'misconfigured', /NATS_URL/],
    ['a nats-server without credentials', { NATS_URL: 'nats://127.0.0.1:4222' }, 'misconfigured', /NATS_URL/],
    ['a creds file that is missing', { NATS_URL: 'nats://h', NATS_CREDS: '/nowhere/x' }, 'misconfigured', /NATS_CREDS/],
  ];

  it.each(refusals)('refuse %s by name and without quoting it', async (_what, wrong, code, detail) => {
    const right = { DATABASE_URL: database.ownerUrl, DATABASE_APP_URL: database.appUrl, NATS_URL: given.url };
    const options = givenByEnvironment({ ...right, ...wrong });
    const error: unknown = await start({ data: tempDir(), ...options }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code, detail: expect.stringMatching(detail), hint: expect.any(String) });
    expect(String(error) + JSON.stringify(error)).not.toContain('a-canary');
  });
});
