import { afterEach, describe, expect, it } from '@jest/globals';
import { connect, credsAuthenticator } from '@nats-io/transport-node';
import { bells, newWorkerId } from '#contracts';
import { mintNatsUser } from '../../../../libs/store/src/bell/mint.js';
import { aNats } from '../../../../test/support/nats.js';
import { waitUntil } from '../../../../test/support/wait-until.js';
import { openLog } from '../log.js';
import { BellEar } from './bell-ear.js';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

describe("the worker's ear", () => {
  it('hears its own bell, and nothing of what it carries', async () => {
    const { ear, rings, ring, user } = await aBell();
    ear.use(user(60));
    await waitUntil(() => ear.connected);
    const before = rings();
    await ring('');
    await ring('{"not json');
    await waitUntil(() => rings() === before + 2);
  });

  it('H18 starts without NATS, looks by itself when it goes, and hears when it comes and comes back', async () => {
    const { nats, ear, rings, ring, user } = await aBell();
    await nats.kill();
    let listening = false;
    await ear.listen(() => {
      listening = true;
    });
    expect(listening).toBe(true);
    ear.use(user(60));
    expect(ear.connected).toBe(false);
    const second = await nats.again();
    await waitUntil(() => ear.connected, { within: 20_000 });
    const heard = rings();
    await second.kill();
    await waitUntil(() => !ear.connected && rings() > heard);
    await second.again();
    await waitUntil(() => ear.connected, { within: 20_000 });
    const before = rings();
    await waitUntil(async () => {
      await ring('');
      return rings() > before;
    });
  });

  it('H23 takes a new user on a second connection before the first is closed, and loses no ring', async () => {
    const { ear, rings, ring, user } = await aBell();
    ear.use(user(60));
    await waitUntil(() => ear.connected);
    let rung = 0;
    const before = rings();
    for (let turn = 0; turn < 5; turn += 1) {
      ear.use(user(60));
      for (let count = 0; count < 20; count += 1, rung += 1) await ring('');
    }
    await waitUntil(() => rings() - before >= rung);
  });

  it('H23 hears on when the user that it had expires, if a new one came before', async () => {
    const { ear, rings, ring, user } = await aBell();
    ear.use(user(3));
    await waitUntil(() => ear.connected);
    ear.use(user(60));
    const expired = Date.now() + 4_000;
    await waitUntil(() => Date.now() > expired);
    expect(ear.connected).toBe(true);
    const before = rings();
    await ring('');
    await waitUntil(() => rings() > before);
  });

  it('goes deaf without a user', async () => {
    const { ear, user } = await aBell();
    ear.use(user(60));
    await waitUntil(() => ear.connected);
    ear.use(undefined);
    expect(ear.connected).toBe(false);
  });
});

async function aBell() {
  const nats = await aNats();
  const worker = newWorkerId();
  let heard = 0;
  const ear = new BellEar(worker, openLog('silent'), () => {
    heard += 1;
  });
  const controller = await connect({
    servers: nats.url,
    authenticator: credsAuthenticator(new TextEncoder().encode(nats.controllerCreds)),
    maxReconnectAttempts: -1,
    reconnectTimeWait: 100,
  });
  closers.push(
    () => ear.close(),
    () => controller.close(),
  );
  const user = (seconds: number) => {
    const expiresAt = new Date(Date.now() + seconds * 1_000);
    const minted = mintNatsUser({
      accountSeed: nats.accountSeed,
      name: worker,
      subscribe: [bells.worker(worker)],
      publish: [],
      expiresAt,
    });
    return { url: nats.url, jwt: minted.jwt, seed: minted.seed };
  };
  const ring = async (content: string) => {
    controller.publish(bells.worker(worker), content);
    await controller.flush();
  };
  return { nats, ear, rings: () => heard, ring, user };
}
