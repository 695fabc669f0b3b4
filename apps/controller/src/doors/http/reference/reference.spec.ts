import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aController, type TestController } from '../../../../../../test/support/a-controller.js';

let farm: TestController;
beforeAll(async () => {
  farm = await aController();
});
afterAll(() => farm.close());

describe('/docs', () => {
  it('loads nothing that this controller does not serve, and lets nothing else be loaded', async () => {
    const page = await farm.fetch('/docs');
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    const policy = page.headers.get('content-security-policy') ?? '';
    expect(policy).toMatch(/^default-src 'none'; script-src 'self';/);
    expect(policy).not.toMatch(/https?:|\*|script-src[^;]*unsafe/);
    const loaded = [...page.text.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, path = '']) => path);
    expect(loaded).toEqual(['/docs/reference.js', '/docs/start.js']);
    for (const path of loaded) {
      const script = await farm.fetch(path);
      expect([script.status, script.headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8']);
      expect(script.headers.get('x-content-type-options')).toBe('nosniff');
      expect(script.text.length).toBeGreaterThan(500);
    }
    expect((await farm.fetch('/docs/reference.js')).text).toContain('createApiReference');
  });

  it('shows nothing of the farm to who is nobody', async () => {
    const page = await farm.fetch('/docs');
    expect(page.text).not.toMatch(/queue_list|task_start/);
    expect((await farm.fetch('/v1/openapi.json')).status).toBe(401);
  });
});
