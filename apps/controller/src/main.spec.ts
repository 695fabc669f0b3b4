import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { exchange } from '../../../test/support/a-controller.js';
import { buildOnce } from '../../../test/support/build.js';
import { aDatabase, type TestDatabase } from '../../../test/support/database.js';
import { spawnTracked } from '../../../test/support/processes.js';
import { tempDir } from '../../../test/support/temp-dir.js';
import { waitUntil } from '../../../test/support/wait-until.js';

const Ready = z.object({ ready: z.literal(true), url: z.url() });
const entry = join(import.meta.dirname, '../../../dist/controller.js');

let database: TestDatabase;
beforeAll(async () => {
  await buildOnce();
  database = await aDatabase();
});

async function start(env: Record<string, string> = {}, data = tempDir('controller-process')) {
  const process_ = await spawnTracked(process.execPath, [entry], {
    env: {
      PATH: process.env.PATH ?? '',
      DATABASE_URL: database.appUrl,
      LONGSHORE_DATA: data,
      LONGSHORE_PORT: '0',
      ...env,
    },
  });
  return { process: process_, data };
}

async function ready(env?: Record<string, string>, data?: string) {
  const started = await start(env, data);
  const line = await waitUntil(() => started.process.stdout().split('\n')[0] || undefined, {
    what: 'the ready line',
    within: 60_000,
  });
  return { ...started, url: Ready.parse(JSON.parse(line)).url };
}

/** Addresses that a process listens on, as the kernel says. */
function listening(pid: number): readonly string[] {
  const inodes = new Set(
    ['tcp', 'tcp6'].flatMap((family) =>
      readFileSync(`/proc/${pid}/net/${family}`, 'utf8')
        .split('\n')
        .slice(1)
        .map((line) => line.trim().split(/\s+/))
        .filter((fields) => fields[3] === '0A')
        .map((fields) => `${fields[9]} ${fields[1]}`),
    ),
  );
  return [...inodes];
}

describe('the controller process', () => {
  it('H36 listens on 127.0.0.1 and nowhere else unless told to', async () => {
    const { process: controller, url } = await ready();
    const port = Number(new URL(url).port).toString(16).toUpperCase().padStart(4, '0');
    const own = listening(controller.pid).filter((line) => line.endsWith(`:${port}`));
    expect(own.map((line) => line.split(' ')[1])).toEqual([`0100007F:${port}`]);
    expect((await exchange(`${url}/readyz`)).status).toBe(200);
  });

  it('H36 refuses any other address without TLS or the insecure flag, and takes it with the flag', async () => {
    const { process: refused } = await start({ LONGSHORE_HOST: '0.0.0.0' });
    expect(await refused.ended).toBe(1);
    expect(JSON.parse(refused.stderr())).toMatchObject({ code: 'misconfigured', msg: expect.stringContaining('TLS') });
    const { url } = await ready({ LONGSHORE_HOST: '0.0.0.0', LONGSHORE_INSECURE: '1' });
    expect((await exchange(`${url.replace('0.0.0.0', '127.0.0.1')}/healthz`)).status).toBe(200);
  });

  it('says which port is taken, and how to go on, and ends with 1', async () => {
    const { url } = await ready();
    const { port } = new URL(url);
    const { process: second } = await start({ LONGSHORE_PORT: port });
    expect(await second.ended).toBe(1);
    expect(JSON.parse(second.stderr().trim().split('\n').at(-1) ?? '')).toMatchObject({
      code: 'port_taken',
      msg: expect.stringContaining(port),
      hint: expect.stringContaining('LONGSHORE_PORT'),
    });
  });

  it('names what is missing in its environment and never a value', async () => {
    const { process: lame } = await start({ DATABASE_URL: '', LONGSHORE_PORT: 'S3CRET' });
    expect(await lame.ended).toBe(1);
    expect(JSON.parse(lame.stderr())).toMatchObject({ msg: expect.stringMatching(/DATABASE_URL.*LONGSHORE_PORT/) });
    expect(lame.stderr()).not.toContain('S3CRET');
  });

  it('A3c.5 ends with 1 under a number that is out of range, and names file, line and key', async () => {
    const data = tempDir('controller-process');
    writeFileSync(join(data, 'longshore.toml'), '[operations]\nconfirm_ttl_seconds = -1\n');
    const { process: refused } = await start({}, data);
    expect(await refused.ended).toBe(1);
    expect(JSON.parse(refused.stderr())).toMatchObject({
      code: 'misconfigured',
      msg: expect.stringContaining(`${join(data, 'longshore.toml')}:2: operations.confirm_ttl_seconds`),
    });
  });

  it('keeps keys and credential to itself, and closes in good order on SIGTERM', async () => {
    const fresh = await aDatabase();
    const { process: controller, data } = await ready({ DATABASE_URL: fresh.appUrl });
    for (const file of ['credential.json', 'keys/signing.json', 'keys/enrolment.json', 'keys/hash.json'])
      expect(statSync(join(data, file)).mode & 0o777).toBe(0o600);
    controller.signal('SIGTERM');
    expect(await controller.ended).toBe(0);
  });
});
