import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { decode } from '@nats-io/jwt';
import { fromSeed } from '@nats-io/nkeys';
import { connect, credsAuthenticator, type NatsConnection } from '@nats-io/transport-node';
import { aNats, type TestNats } from '../../../../test/support/nats.js';
import { waitUntil } from '../../../../test/support/wait-until.js';
import { mintNatsUser, type NatsUser } from './mint.js';

let nats: TestNats;
const open: NatsConnection[] = [];

beforeAll(async () => {
  nats = await aNats();
});
afterEach(async () => {
  for (const connection of open.splice(0)) await connection.close();
});
afterAll(async () => {
  await nats.stop();
});

const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000);

const mintWorker = (id: string, expiresAt = inSeconds(900)) =>
  mintNatsUser({
    accountSeed: nats.accountSeed,
    name: `worker ${id}`,
    subscribe: [`bell.worker.${id}`],
    publish: [],
    expiresAt,
  });

async function join(creds: string): Promise<Client> {
  const connection = await connect({
    servers: nats.url,
    authenticator: credsAuthenticator(new TextEncoder().encode(creds)),
    reconnect: false,
  });
  open.push(connection);
  const refused: string[] = [];
  void (async () => {
    for await (const event of connection.status()) {
      if (event.type === 'error') refused.push(event.error.message);
    }
  })();
  return { connection, refused };
}

interface Client {
  readonly connection: NatsConnection;
  /** What the server has refused on this connection. */
  readonly refused: readonly string[];
}

/** The rings that arrive, as they arrive, and why the server ended the subscription, when it did. */
function listen({ connection }: Client, subject: string) {
  const heard: string[] = [];
  const refusals: string[] = [];
  connection.subscribe(subject, {
    callback: (error, message) => {
      if (error) refusals.push(error.message);
      else heard.push(message.string());
    },
  });
  return { heard, refusals };
}

const controller = () => join(nats.controllerCreds);

describe('a minted NATS user', () => {
  it('H23 hears its own bell', async () => {
    const worker = await join(mintWorker('north').creds);
    const { heard } = listen(worker, 'bell.worker.north');
    await worker.connection.flush();

    (await controller()).connection.publish('bell.worker.north', 'ring');

    await waitUntil(() => heard.includes('ring'));
  });

  it('H23 publishes nothing: the server refuses every subject, the own bell too', async () => {
    const worker = await join(mintWorker('north').creds);
    const everything = listen(await controller(), 'bell.>');

    for (const subject of ['bell.worker.north', 'bell.worker.south', 'bell.controllers', '$JS.API.INFO', '_INBOX.x']) {
      const before = worker.refused.length;
      worker.connection.publish(subject, 'forged');
      await waitUntil(() => worker.refused.length > before, { what: `a refusal of ${subject}` });
    }

    expect(worker.refused.every((reason) => /permissions violation/i.test(reason))).toBe(true);
    expect(everything.heard).toEqual([]);
  });

  it('H23 can not subscribe elsewhere, nor to the bell of a second worker', async () => {
    const worker = await join(mintWorker('north').creds);
    const others = ['bell.worker.south', 'bell.controllers', 'bell.worker.*', 'bell.>', '>', '_INBOX.>', '$SYS.>'];

    for (const subject of others) {
      const listening = listen(worker, subject);
      await waitUntil(() => listening.refusals.length > 0, { what: `a refusal of ${subject}` });
      (await controller()).connection.publish('bell.worker.south', 'not yours');
      await worker.connection.flush();
      expect(listening.heard).toEqual([]);
    }
  });

  it('H23 has no JetStream to reach, not even the controller', async () => {
    const { connection } = await controller();
    expect(connection.info?.jetstream ?? false).toBe(false);
  });

  it('H23 is cut off by the server when it expires, and let in no more', async () => {
    const { connection } = await join(mintWorker('north', inSeconds(8)).creds);

    const reason = await connection.closed();

    expect(String(reason)).toMatch(/expired/i);
    await expect(join(mintWorker('north', inSeconds(-5)).creds)).rejects.toThrow(/authorization/i);
  });

  it('H23 loses no ring at its end to a worker that has joined with the next user before', async () => {
    const first = await join(mintWorker('north', inSeconds(8)).creds);
    const second = await join(mintWorker('north').creds);
    const before = listen(first, 'bell.worker.north');
    const after = listen(second, 'bell.worker.north');
    await first.connection.flush();
    await second.connection.flush();
    const { connection } = await controller();
    const rings: string[] = [];
    const ring = () => {
      rings.push(`${rings.length}`);
      connection.publish('bell.worker.north', rings.at(-1));
    };

    let isOver = false;
    void first.connection.closed().then(() => {
      isOver = true;
    });
    const ringToTheEnd = () => {
      ring();
      return isOver;
    };
    await waitUntil(ringToTheEnd, { within: 40_000 });
    ring();
    await connection.flush();

    const heard = () => new Set([...before.heard, ...after.heard]);
    await waitUntil(() => heard().size === rings.length, { what: 'every ring' });
    expect(before.heard.length).toBeGreaterThan(0);
  });

  it('is what the reference implementation reads', () => {
    const user = mintWorker('north');
    const claims = decode(user.jwt);

    expect(fromSeed(new TextEncoder().encode(user.seed)).getPublicKey()).toBe(claims.sub);
    expect(claims).toMatchObject({
      iss: nats.accountPublicKey,
      name: 'worker north',
      exp: Math.floor(user.expiresAt.getTime() / 1000),
      nats: { type: 'user', sub: { allow: ['bell.worker.north'] }, pub: { deny: ['>'] } },
    });
  });

  it('is another one each time', () => {
    const users: readonly NatsUser[] = [mintWorker('north'), mintWorker('north')];
    expect(new Set(users.map((user) => user.publicKey)).size).toBe(2);
  });

  it('needs the seed of an account, and says so without quoting it', () => {
    const seed = nats.accountSeed;
    const notAccounts = ['', 'SA', mintWorker('north').seed, `${seed.slice(0, -1)}!`, `${seed}!`];
    for (const accountSeed of notAccounts) {
      const mint = () => mintNatsUser({ accountSeed, name: 'x', subscribe: [], publish: [], expiresAt: inSeconds(9) });
      expect(mint).toThrow(/^not the seed of a NATS account$/);
    }
  });
});
