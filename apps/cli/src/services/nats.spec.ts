import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { connect, credsAuthenticator } from '@nats-io/transport-node';
import { allCommandLines, listeningAddresses, openToOthers } from '../../../../test/support/inspect.js';
import { trackPid } from '../../../../test/support/processes.js';
import { tempDir } from '../../../../test/support/temp-dir.js';
import { type NatsOptions, type RunningNats, startNats } from './nats.js';
import { endProcess, isAlive, markOf } from './process-mark.js';

const running: RunningNats[] = [];

afterEach(async () => {
  for (const server of running.splice(0)) await server.stop();
});

async function start(options: NatsOptions): Promise<RunningNats> {
  const server = await startNats(options);
  trackPid(server.pid);
  running.push(server);
  return server;
}

const joinWith = (nats: RunningNats, creds: string) =>
  connect({ servers: nats.url, authenticator: credsAuthenticator(new TextEncoder().encode(creds)), reconnect: false });

describe('the embedded nats-server', () => {
  it('listens on loopback alone, and shows its keys nowhere', async () => {
    const data = tempDir();
    const nats = await start({ data });
    expect(listeningAddresses(nats.port)).toEqual(['127.0.0.1']);
    expect(openToOthers(data)).toEqual([]);
    const seen = allCommandLines() + readFileSync(join(data, 'nats/server.log'), 'utf8');
    expect(seen).not.toContain(nats.accountSeed);
    expect(nats.accountSeed.startsWith('SA')).toBe(true);
    expect(readFileSync(join(data, 'nats/nats.conf'), 'utf8')).not.toContain(nats.accountSeed);
  });

  it('lets nobody in without credentials of this farm', async () => {
    const [nats, other] = [await start({ data: tempDir() }), await start({ data: tempDir() })];
    await expect(connect({ servers: nats.url, reconnect: false })).rejects.toThrow(/authorization/i);
    await expect(joinWith(nats, other.controllerCreds)).rejects.toThrow(/authorization/i);
    const connection = await joinWith(nats, nats.controllerCreds);
    await connection.close();
  });

  it('carries no content: a message over 4 KiB is refused', async () => {
    const nats = await start({ data: tempDir() });
    const connection = await joinWith(nats, nats.controllerCreds);
    expect(connection.info?.max_payload).toBe(4096);
    await connection.close();
  });

  it('comes back after kill -9 with the same keys on the same port', async () => {
    const data = tempDir();
    const first = await start({ data });
    const mark = markOf(first.pid);
    if (mark !== undefined) await endProcess(mark, [['SIGKILL', 10_000]]);

    const second = await start({ data });

    expect(second).toMatchObject({ reused: false, port: first.port, accountSeed: first.accountSeed });
    expect(second.pid).not.toBe(first.pid);
  });

  it('takes over a server that a crash of ours left running', async () => {
    const data = tempDir();
    const first = await start({ data });

    const second = await start({ data });

    expect(second).toMatchObject({ reused: true, pid: first.pid, port: first.port });
    const mark = markOf(first.pid);
    await second.stop();
    expect(mark !== undefined && isAlive(mark)).toBe(false);
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
      });
    } finally {
      holder.close();
    }
  });
});
