import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { connect, credsAuthenticator, jwtAuthenticator } from '@nats-io/transport-node';
import { bells, jobClaim, jobSubmit, status, TokenReply } from '#contracts';
import { aController, type TestController } from '../../../../../test/support/a-controller.js';
import { aNats, type TestNats } from '../../../../../test/support/nats.js';
import { waitUntil } from '../../../../../test/support/wait-until.js';

let nats: TestNats;
let one: TestController;
let two: TestController;
beforeAll(async () => {
  nats = await aNats();
  const settings = { nats: { url: nats.url, creds: nats.controllerCreds, accountSeed: nats.accountSeed } };
  one = await aController(settings);
  two = await aController({ ...settings, database: one.database, data: one.data });
  await waitUntil(() => one.controller.services.bell.connected && two.controller.services.bell.connected);
});
afterAll(async () => {
  await one.close();
  await two.close();
});

describe('the bell of two controllers', () => {
  it('H25 wakes a claim that waits at the other, and a ring with anything in it costs one look', async () => {
    const worker = await two.aWorker();
    const waiting = worker.call(jobClaim, { request_id: randomUUID(), wait_seconds: 20 });
    await waitUntil(() => two.controller.services.claims.size === 1);
    const forger = await connect({
      servers: nats.url,
      authenticator: credsAuthenticator(new TextEncoder().encode(nats.controllerCreds)),
    });
    for (const body of ['', '{"id":1,"job":"x"}', 'not json SECRET', '{"pattern":'])
      forger.publish(bells.controllers, body);
    await forger.flush();
    await forger.close();
    await waitUntil(() => two.controller.services.claims.size === 1);
    const { job_id } = await one.admin.call(jobSubmit, { kind: 'echo' });
    expect((await waiting).jobs.map(({ id }) => id)).toEqual([job_id]);
    expect(two.logged.join('\n')).not.toContain('SECRET');
  });

  it('D14 wakes the claim of the machine that has room at the controller where it waits, by the bell of that machine', async () => {
    const [worker, full] = [await two.aWorker({ pool: 'room' }), await two.aWorker({ pool: 'room' })];
    await full.ask('job_heartbeat', { worker: { slots: 1, busy: 1, labels: [] } });
    await worker.ask('job_heartbeat', { worker: { slots: 1, busy: 0, labels: [] } });
    const waiting = worker.call(jobClaim, { request_id: randomUUID(), wait_seconds: 20 });
    await waitUntil(() => two.controller.services.claims.size === 1);
    await one.controller.services.ringer.sweep();
    const wakes = jest.spyOn(two.controller.services.claims, 'wakeWorker');
    const { job_id } = await one.admin.call(jobSubmit, { kind: 'echo', pool: 'room' });
    expect((await waiting).jobs.map(({ id }) => id)).toEqual([job_id]);
    expect(wakes.mock.calls).toContainEqual([worker.id]);
    expect(wakes.mock.calls).not.toContainEqual([full.id]);
  });

  it('H23 gives a worker an ear for its own bell, which it hears when there is work for it', async () => {
    const worker = await one.aWorker({ pool: 'ear' });
    await worker.ask('job_heartbeat', { worker: { slots: 1, busy: 0, labels: [] } });
    const { nats: ear } = TokenReply.parse((await worker.renew()).body);
    if (!ear) throw new Error('there is no ear');
    const hearing = await connect({
      servers: ear.url,
      authenticator: jwtAuthenticator(ear.jwt, new TextEncoder().encode(ear.seed)),
    });
    const rings = hearing.subscribe(bells.worker(worker.id))[Symbol.asyncIterator]();
    await hearing.flush();
    await one.admin.call(jobSubmit, { kind: 'echo', pool: 'ear' });
    const { value } = await rings.next();
    expect(value.data).toHaveLength(0);
    await hearing.close();
  });

  it('H18 may be away: calls and waits go on, find in seconds what another controller has, and a controller starts without it', async () => {
    await nats.kill();
    await waitUntil(async () => (await one.admin.call(status, {})).nats === 'away');
    const settings = { nats: { url: nats.url, creds: nats.controllerCreds, accountSeed: nats.accountSeed } };
    const third = await aController({ ...settings, database: one.database, data: one.data });
    const worker = await third.aWorker({ pool: 'quiet' });
    const waiting = worker.call(jobClaim, { request_id: randomUUID(), wait_seconds: 20 });
    await waitUntil(() => third.controller.services.claims.size === 1);
    const { job_id } = await third.admin.call(jobSubmit, { kind: 'echo', pool: 'quiet' });
    expect((await waiting).jobs.map(({ id }) => id)).toEqual([job_id]);
    const other = worker.call(jobClaim, { request_id: randomUUID(), wait_seconds: 20 });
    let found: readonly string[] = [];
    void other.then(({ jobs }) => {
      found = jobs.map(({ id }) => id);
    });
    await waitUntil(() => third.controller.services.claims.size === 1);
    const elsewhere = await one.admin.call(jobSubmit, { kind: 'echo', pool: 'quiet' });
    await waitUntil(() => found.includes(elsewhere.job_id), { within: 12_000 });
    nats = await nats.again();
    await waitUntil(async () => (await third.admin.call(status, {})).nats === 'connected', { within: 20_000 });
    await third.close();
  });
});
