import { describe, expect, it } from '@jest/globals';
import { aNats } from '../../../../test/support/nats.js';
import { waitUntil } from '../../../../test/support/wait-until.js';
import { openBell } from './bell.js';

describe('the bell', () => {
  it('rings whoever listens, with nothing in it', async () => {
    const nats = await aNats();
    const [ringer, hearer] = [0, 1].map(() => openBell({ url: nats.url, creds: nats.controllerCreds }));
    if (!ringer || !hearer) throw new Error('two bells');
    let heard = 0;
    hearer.listen('bell.controllers', () => {
      heard += 1;
    });
    await waitUntil(() => ringer.connected && hearer.connected);
    await waitUntil(() => {
      ringer.ring('bell.controllers');
      return heard > 0;
    });
    await Promise.all([ringer.close(), hearer.close()]);
  });

  it('tells whose bell rang to those that listen to all of a kind', async () => {
    const nats = await aNats();
    const bell = openBell({ url: nats.url, creds: nats.controllerCreds });
    const heard = new Set<string>();
    bell.listen('bell.worker.*', (subject) => heard.add(subject));
    await waitUntil(() => bell.connected);
    await waitUntil(() => {
      bell.ring('bell.controllers');
      bell.ring('bell.worker.w_1');
      bell.ring('bell.worker.w_2');
      return heard.size === 2;
    });
    expect([...heard].sort()).toEqual(['bell.worker.w_1', 'bell.worker.w_2']);
    await bell.close();
  });

  it('never throws while NATS is away and rings once when it is back: what was missed is looked for', async () => {
    const nats = await aNats();
    const bell = openBell({ url: nats.url, creds: nats.controllerCreds });
    let heard = 0;
    bell.listen('bell.controllers', () => {
      heard += 1;
    });
    const all: string[] = [];
    bell.listen('bell.worker.*', (subject) => all.push(subject));
    await waitUntil(() => bell.connected);
    await nats.kill();
    await waitUntil(() => !bell.connected);
    bell.ring('bell.controllers');
    expect(heard).toBe(0);
    await nats.again();
    await waitUntil(() => bell.connected && heard > 0);
    expect(all).toEqual(['bell.worker.*']);
    await bell.close();
  });

  it('waits in the background for a NATS that is not there yet', async () => {
    const nats = await aNats();
    await nats.kill();
    const bell = openBell({ url: nats.url, creds: nats.controllerCreds });
    bell.ring('bell.controllers');
    expect(bell.connected).toBe(false);
    await nats.again();
    await waitUntil(() => bell.connected);
    await bell.close();
  });
});
