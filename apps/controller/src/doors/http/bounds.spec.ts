import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { jobClaim, limits } from '#contracts';
import { aController, post } from '../../../../../test/support/a-controller.js';

describe('how often one may call', () => {
  it('is counted for each person, and told with the time to wait, in header and problem', async () => {
    const farm = await aController({ api: { callsPerMinute: 5 } });
    const answers = [];
    for (let n = 0; n < 7; n += 1) answers.push(await farm.admin.ask('queue_list', {}));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 429, 429]);
    const refused = answers.at(-1);
    expect(refused?.body).toMatchObject({ code: 'too_many_requests', retry_after_ms: expect.any(Number) });
    const wait = Number(refused?.headers.get('retry-after'));
    expect(wait).toBeGreaterThan(0);
    expect(wait).toBeLessThanOrEqual(60);
    const listing = await farm.fetch('/v1/operations', { headers: { authorization: `Bearer ${farm.admin.token}` } });
    expect(listing.status).toBe(429);
    await farm.close();
  });

  it('is not counted for workers, and one person’s calls are not another caller’s', async () => {
    const farm = await aController({ api: { callsPerMinute: 3 } });
    const worker = await farm.aWorker();
    for (let n = 0; n < 20; n += 1) await worker.call(jobClaim, { request_id: randomUUID() });
    for (let n = 0; n < 4; n += 1) await farm.admin.ask('queue_list', {});
    expect((await farm.admin.ask('queue_list', {})).status).toBe(429);
    expect((await worker.ask('job_claim', { request_id: randomUUID() })).status).toBe(200);
    expect((await farm.fetch('/healthz')).status).toBe(200);
    await farm.close();
  });

  it('is counted by address where somebody asks for a credential, and the calls of those who have one go on', async () => {
    const farm = await aController({ api: { signInsPerMinute: 20 } });
    const tries = [];
    for (let n = 0; n < 25; n += 1) tries.push(await farm.fetch('/v1/token', post({ guess: n })));
    expect(tries.at(0)?.status).toBe(422);
    expect(tries.at(-1)?.body).toMatchObject({ code: 'too_many_requests' });
    expect(Number(tries.at(-1)?.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await farm.admin.ask('queue_list', {})).status).toBe(200);
    await farm.close();
  });

  it('counts the addresses of one network of IPv6 as one, since one machine has them all', async () => {
    const farm = await aController({ api: { signInsPerMinute: 5 }, trustedProxies: ['127.0.0.1'] });
    const statusFrom = async (address: string) =>
      (await farm.fetch('/v1/token', post({ guess: 1 }, { 'x-forwarded-for': address }))).status;
    const tries = [];
    for (let n = 1; n <= 7; n += 1) tries.push(await statusFrom(`2001:db8:0:1::${n}`));
    expect(tries).toEqual([422, 422, 422, 422, 422, 429, 429]);
    expect([await statusFrom('2001:db8:0:2::1'), await statusFrom('192.0.2.1')]).toEqual([422, 422]);
    await farm.close();
  });
});

describe('what a browser is told', () => {
  it('lets nothing be loaded, framed or guessed, and no other origin in', async () => {
    const farm = await aController();
    const answers = [
      await farm.fetch('/healthz'),
      await farm.fetch('/problems/internal', { headers: { accept: 'text/html' } }),
      await farm.fetch('/v1/operations', { headers: { authorization: `Bearer ${farm.admin.token}` } }),
    ];
    for (const { headers } of answers) {
      expect(headers.get('content-security-policy')).toBe(
        "default-src 'none';frame-ancestors 'none';base-uri 'none';form-action 'none'",
      );
      expect(headers.get('x-frame-options')).toBe('SAMEORIGIN');
      expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
    }
    const called = await farm.admin.ask('queue_list', {});
    const refused = await farm.admin.ask('queue_list', { no: 1 });
    for (const { headers } of [...answers, called, refused])
      expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect([called, refused].map(({ headers }) => headers.get('cache-control'))).toEqual(['no-store', 'no-store']);
    const origin = { origin: 'http://evil.example', 'access-control-request-method': 'POST' };
    for (const path of ['/v1/operations/queue_list', '/v1/openapi.json', '/healthz']) {
      for (const method of ['OPTIONS', 'GET']) {
        const { headers } = await farm.fetch(path, { method, headers: origin });
        expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
      }
    }
    await farm.close();
  });

  it('refuses bodies by their size before it holds them', async () => {
    const farm = await aController();
    const huge = `{"input":{"kind":"${'x'.repeat(limits.bodyBytes)}"}}`;
    const answer = await farm.fetch(
      '/v1/operations/job_submit',
      post(huge, { authorization: `Bearer ${farm.admin.token}` }),
    );
    expect([answer.status, answer.text.length < 1_000]).toEqual([413, true]);
    const challenge = await farm.fetch('/v1/token', post(`"${'x'.repeat(limits.bodyBytes)}"`));
    expect(challenge.status).toBe(413);
    await farm.close();
  });
});
