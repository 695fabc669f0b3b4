import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { allCommandLines, listeningAddresses, openToOthers, processesWith } from '../../../../test/support/inspect.js';
import { trackPid } from '../../../../test/support/processes.js';
import { tempDir } from '../../../../test/support/temp-dir.js';
import { type PostgresOptions, type RunningPostgres, startPostgres } from './postgres.js';
import { namespacedRoot, nobodyWithReach } from './postgres-user.js';
import { endProcess, isAlive, markOf } from './process-mark.js';

const running: RunningPostgres[] = [];
const isRoot = process.getuid?.() === 0;

afterEach(async () => {
  for (const server of running.splice(0)) await server.stop();
});

async function start(options: PostgresOptions): Promise<RunningPostgres> {
  const server = await startPostgres(options);
  trackPid(server.pid);
  running.push(server);
  return server;
}

async function query(url: string, text: string): Promise<Record<string, unknown>> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows[0];
  } finally {
    await client.end();
  }
}

async function kill(pid: number): Promise<void> {
  const mark = markOf(pid);
  if (mark !== undefined) await endProcess(mark, [['SIGKILL', 10_000]]);
}

const passwordOf = (url: string) => new URL(url).password;

describe('the embedded PostgreSQL', () => {
  it('is PostgreSQL 18 with fsync, the farm’s database and two roles', async () => {
    const server = await start({ data: tempDir() });
    expect(
      await query(
        server.url,
        `select current_setting('server_version_num')::int / 10000 as major, current_setting('fsync') as fsync,
        current_user as "user", current_database() as database, pg_get_userbyid(datdba) as owner, datcollate as collation,
        (select rolsuper from pg_roles where rolname = 'longshore_app') as app_is_super
        from pg_database where datname = current_database()`,
      ),
    ).toEqual({
      major: 18,
      fsync: 'on',
      user: 'longshore_owner',
      database: 'longshore',
      owner: 'longshore_owner',
      collation: 'C',
      app_is_super: false,
    });
    expect(await query(server.appUrl, 'select current_user as "user"')).toEqual({ user: 'longshore_app' });
  });

  it('listens on loopback alone, and shows its passwords nowhere', async () => {
    const data = tempDir();
    const server = await start({ data });
    expect(listeningAddresses(server.port)).toEqual(['127.0.0.1']);
    expect(openToOthers(data)).toEqual([]);
    const [owner, app] = [passwordOf(server.url), passwordOf(server.appUrl)];
    expect(owner).not.toBe(app);
    const seen = allCommandLines() + readFileSync(join(data, 'postgres/server.log'), 'utf8');
    for (const secret of [owner, app]) expect(seen).not.toContain(secret);
  });

  it('refuses a wrong password and the other role’s', async () => {
    const server = await start({ data: tempDir() });
    for (const wrong of ['', 'longshore', passwordOf(server.appUrl)]) {
      const url = new URL(server.url);
      url.password = wrong;
      await expect(query(url.href, 'select 1')).rejects.toThrow(/password/);
    }
  });

  const ways = { 'a user namespace': namespacedRoot, 'another user with reach': nobodyWithReach };

  for (const [name, user] of isRoot ? Object.entries(ways) : []) {
    it(`starts for root below a folder that only root may enter, by ${name}`, async () => {
      const data = tempDir('home');
      expect(statSync(data).mode & 0o077).toBe(0);
      const server = await start({ data, user });
      expect(await query(server.url, 'select 1 as one')).toEqual({ one: 1 });
      await server.stop();
      // And the other way afterwards, as after a move from a container to its host.
      const other = await start({ data, user: user === namespacedRoot ? nobodyWithReach : namespacedRoot });
      expect(await query(other.url, 'select 1 as one')).toEqual({ one: 1 });
    });
  }

  it('loses nothing to kill -9, and starts again over what that left', async () => {
    const data = tempDir();
    const first = await start({ data });
    await query(first.url, `create table kept as select 'it is here' as word`);
    await kill(first.pid);

    const second = await start({ data });

    expect(second).toMatchObject({ reused: false, url: expect.stringContaining(passwordOf(first.url)) });
    expect(await query(second.url, 'select word from kept')).toEqual({ word: 'it is here' });
  });

  it('takes over a server that a crash of ours left running', async () => {
    const data = tempDir();
    const first = await start({ data });

    const second = await start({ data });

    expect(second).toMatchObject({ reused: true, pid: first.pid, port: first.port, url: first.url });
    const mark = markOf(first.pid);
    await second.stop();
    expect(mark !== undefined && isAlive(mark)).toBe(false);
  });

  it('ends a server left running whose passwords are no longer ours, and starts its own', async () => {
    const data = tempDir();
    const first = await start({ data });
    await query(first.url, `alter role longshore_owner password 'changed by somebody'`);
    const before = markOf(first.pid);

    await expect(start({ data })).rejects.toMatchObject({
      code: 'misconfigured',
      hint: expect.stringContaining('credentials.json'),
    });

    expect(processesWith(data)).toEqual([]);
    expect(before !== undefined && isAlive(before)).toBe(false);
  });

  it('is not held up by a pid file that names a process of somebody else', async () => {
    const data = tempDir();
    const first = await start({ data });
    const pidFile = join(data, 'postgres/data/postmaster.pid');
    const text = readFileSync(pidFile, 'utf8');
    await first.stop();
    writeFileSync(pidFile, text.replace(`${first.pid}`, `${process.pid}`));

    expect(await start({ data })).toMatchObject({ reused: false });
  });

  it('names a port that is taken and the way out', async () => {
    const holder = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => holder.once('listening', resolve));
    const address = holder.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    try {
      await expect(start({ data: tempDir(), port })).rejects.toMatchObject({
        code: 'port_taken',
        detail: expect.stringContaining(`${port}`),
        hint: expect.stringContaining('another port'),
      });
    } finally {
      holder.close();
    }
  });

  it('names both versions of a data folder from another PostgreSQL, and touches nothing', async () => {
    const data = tempDir();
    await (await start({ data })).stop();
    writeFileSync(join(data, 'postgres/data/PG_VERSION'), '16\n');
    await expect(start({ data })).rejects.toMatchObject({
      code: 'data_version',
      detail: expect.stringMatching(/PostgreSQL 16.*PostgreSQL 18/),
      hint: expect.stringContaining('--data'),
    });
    writeFileSync(join(data, 'postgres/data/PG_VERSION'), '18\n');
    await expect(start({ data })).resolves.toMatchObject({ reused: false });
  });

  it('says what is missing when the passwords are gone or damaged, without showing them', async () => {
    const data = tempDir();
    await (await start({ data })).stop();
    const file = join(data, 'postgres/credentials.json');
    renameSync(file, `${file}.away`);
    await expect(start({ data })).rejects.toMatchObject({
      code: 'misconfigured',
      detail: expect.stringContaining(file),
    });
    writeFileSync(file, '{"owner": "a-secret-that-must-not-show');
    const error = await start({ data }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'misconfigured' });
    expect(JSON.stringify(error) + String(error)).not.toContain('a-secret');
    rmSync(file);
    renameSync(`${file}.away`, file);
    await expect(start({ data })).resolves.toMatchObject({ reused: false });
  });
});
