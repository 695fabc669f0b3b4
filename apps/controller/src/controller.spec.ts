import { randomUUID } from 'node:crypto';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { jobClaim, jobComplete, jobSubmit } from '#contracts';
import { aController, codeOf, type TestController } from '../../../test/support/a-controller.js';
import { aDatabase } from '../../../test/support/database.js';
import { waitUntil } from '../../../test/support/wait-until.js';

let farm: TestController;
beforeAll(async () => {
  farm = await aController();
});
afterAll(() => farm.close());

describe('a plain job over HTTP', () => {
  it('is submitted by a person, claimed by an enrolled worker and completed once', async () => {
    const worker = await farm.aWorker();
    const { job_id } = await farm.admin.call(jobSubmit, { kind: 'echo', payload: { word: 'hello' } });
    const { jobs } = await worker.call(jobClaim, { request_id: randomUUID() });
    expect(jobs).toMatchObject([{ id: job_id, kind: 'echo', epoch: 1, payload: { word: 'hello' } }]);
    const [job] = jobs;
    const end = { job_id, epoch: job?.epoch, lease_id: job?.lease_id, ended: 'done', result: { word: 'olleh' } };
    expect(await worker.call(jobComplete, end)).toMatchObject({ state: 'done' });
    expect(await worker.call(jobComplete, end)).toMatchObject({ state: 'done' });
    expect((await worker.call(jobClaim, { request_id: randomUUID() })).jobs).toEqual([]);
  });
});

describe('a controller that closes', () => {
  it('answers the claims that wait, and takes no more calls', async () => {
    const closing = await aController();
    const worker = await closing.aWorker();
    const waiting = worker.call(jobClaim, { request_id: randomUUID(), wait_seconds: 20 });
    await waitUntil(() => closing.controller.services.claims.size === 1);
    await closing.close();
    expect((await waiting).jobs).toEqual([]);
    await expect(worker.ask('job_claim', { request_id: randomUUID() })).rejects.toThrow();
  });
});

/** A road to the database that can be cut. */
async function aRoad(to: string): Promise<{ url: string; cut(): Promise<void>; mend(): Promise<void> }> {
  const target = new URL(to);
  const sockets = new Set<Socket>();
  const listen = (port: number) =>
    new Promise<Server>((resolve) => {
      const server = createServer((near) => {
        const far = connect(Number(target.port), target.hostname);
        for (const socket of [near, far]) {
          sockets.add(socket);
          socket.on('error', () => {});
          socket.on('close', () => {
            near.destroy();
            far.destroy();
          });
        }
        near.pipe(far).pipe(near);
      });
      server.listen(port, '127.0.0.1', () => resolve(server));
    });
  let server = await listen(0);
  const bound = server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : 0;
  const near = new URL(to);
  near.host = `127.0.0.1:${port}`;
  return {
    url: near.href,
    cut: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
        sockets.clear();
      }),
    async mend() {
      server = await listen(port);
    },
  };
}

describe('a controller whose database goes away', () => {
  it('answers that it is unavailable, not that something is wrong, and is well again when the database is', async () => {
    const database = await aDatabase();
    const road = await aRoad(database.appUrl);
    const one = await aController({ database, databaseUrl: road.url });
    const worker = await one.aWorker();
    await road.cut();
    const answer = await waitUntil(async () => {
      const tried = await worker.ask('job_claim', { request_id: randomUUID() });
      return tried.status === 200 ? undefined : tried;
    });
    expect([answer.status, codeOf(answer)]).toEqual([503, 'unavailable']);
    expect((await one.fetch('/readyz')).status).toBe(503);
    await road.mend();
    await waitUntil(async () => (await worker.ask('job_claim', { request_id: randomUUID() })).status === 200);
    await one.close();
    await road.cut();
  });
});
