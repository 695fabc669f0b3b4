import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import {
  Challenge,
  cliClientId,
  DeviceAuthorization,
  DeviceToken,
  deviceGrant,
  identityPaths,
  loginPaths,
  OAuthError,
  personCreate,
  personDisable,
  TokenReply,
} from '#contracts';
import { openDatabase, statement } from '#store';
import { Browser } from '../../../../../../test/support/a-browser.js';
import { type Answer, aController, post, type TestController } from '../../../../../../test/support/a-controller.js';
import { aPerson, goodPassword } from '../../../../../../test/support/people.js';

let farm: TestController;
let other: TestController;
beforeAll(async () => {
  farm = await aController();
  other = await aController({ database: farm.database, data: farm.data });
});
afterAll(async () => {
  await other.close();
  await farm.close();
});

const form = (fields: Readonly<Record<string, string>>) => ({ method: 'POST', body: new URLSearchParams(fields) });
const newKey = () => generateKeyPairSync('ed25519').privateKey;
const raw = (key: KeyObject) => z.object({ x: z.string() }).parse(key.export({ format: 'jwk' })).x;

async function begin(client = 'laptop', key = newKey()) {
  const asked = { client_id: cliClientId, client_name: client, public_key: raw(key) };
  const answer = await farm.fetch(loginPaths.deviceAuthorization, form(asked));
  return { key, ...DeviceAuthorization.parse(answer.body) };
}

const poll = (device_code: string, at: TestController = farm) =>
  at.fetch(loginPaths.token, form({ grant_type: deviceGrant, device_code, client_id: cliClientId }));
const errorOf = ({ status, body }: Answer) => [status, OAuthError.parse(body).error];
const pageOf = (browser: Browser, code: string) => browser.fetch(`${loginPaths.device}?user_code=${code}`);

describe('a command line logs in by a browser', () => {
  it('is let in by a person who enters its code, over two controllers, and signs for its next tokens itself', async () => {
    const person = await aPerson(farm, 'operator');
    const { device_code, user_code, verification_uri_complete, expires_in, interval, key } = await begin();
    expect([expires_in, interval]).toEqual([600, 5]);
    expect(verification_uri_complete).toBe(`${farm.url}/device?user_code=${user_code}`);
    expect(errorOf(await poll(device_code))).toEqual([400, 'authorization_pending']);
    expect(errorOf(await poll(device_code, other))).toEqual([400, 'slow_down']);

    const browser = new Browser(other.url);
    const login = await pageOf(browser, user_code);
    expect([login.status, login.text]).toEqual([200, expect.stringContaining('name="password"')]);
    const fields = { action: 'login', name: person.name, password: goodPassword };
    const inside = await browser.submit(login, fields);
    expect([inside.status, inside.headers.get('location')]).toEqual([303, `/device?user_code=${user_code}`]);
    const asking = await pageOf(browser, user_code);
    for (const shown of ['laptop', '127.0.0.1', user_code, `${person.name} (operator)`])
      expect(asking.text).toContain(shown);
    const done = await browser.submit(asking, { action: 'approve' });
    expect([done.status, done.text]).toEqual([200, expect.stringContaining('let in')]);

    const answer = await poll(device_code);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const { access_token, principal, session, farm_id } = DeviceToken.parse(answer.body);
    expect([principal, farm_id]).toEqual([person.id, farm.controller.services.farmId]);
    const who = await other.person(access_token).ask('whoami', {});
    expect(who.body).toMatchObject({ result: { id: person.id, by: 'session', door: 'cli', role: 'operator' } });
    expect(errorOf(await poll(device_code))).toEqual([400, 'invalid_grant']);

    const renewed = await renew(other, principal, session, key);
    const { token } = TokenReply.parse(renewed.body);
    expect((await farm.person(token).ask('whoami', {})).status).toBe(200);
    expect((await renew(other, principal, session, newKey())).status).toBe(401);
    expect((await renew(other, principal, undefined, key)).status).toBe(401);
    await farm.admin.call(personDisable, { person: person.name }, { confirm: true });
    expect((await other.person(token).ask('whoami', {})).status).toBe(401);
    expect((await renew(farm, principal, session, key)).status).toBe(401);
  });

  it('is told that it was denied, that it is too late, and what it asked wrongly', async () => {
    const browser = await (await aPerson(farm, 'viewer')).browser();
    const denied = await begin();
    await browser.submit(await pageOf(browser, denied.user_code), { action: 'deny' });
    expect(errorOf(await poll(denied.device_code))).toEqual([400, 'access_denied']);

    const late = await begin();
    const asking = await pageOf(browser, late.user_code);
    await expire(late.device_code);
    expect((await browser.submit(asking, { action: 'approve' })).status).toBe(404);
    expect((await pageOf(browser, late.user_code)).status).toBe(404);
    expect(errorOf(await poll(late.device_code))).toEqual([400, 'expired_token']);

    const wrong = (fields: Readonly<Record<string, string>>, path: string = loginPaths.token) =>
      farm.fetch(path, form(fields)).then(errorOf);
    const client_id = cliClientId;
    expect(await wrong({ grant_type: deviceGrant, device_code: 'S3CRET', client_id })).toEqual([400, 'invalid_grant']);
    expect(await wrong({ grant_type: deviceGrant, device_code: 'x', client_id: 'y' })).toEqual([400, 'invalid_client']);
    expect(await wrong({ grant_type: deviceGrant, client_id })).toEqual([400, 'invalid_request']);
    expect(await wrong({ grant_type: 'password', device_code: 'x', client_id })).toEqual([
      400,
      'unsupported_grant_type',
    ]);
    expect(await wrong({ client_id }, loginPaths.deviceAuthorization)).toEqual([400, 'invalid_request']);
    expect((await farm.fetch(loginPaths.token, post({ grant_type: deviceGrant }))).status).toBe(400);
  });
});

describe('the page', () => {
  it('loads and runs nothing, is framed by nobody, and shows what a machine says of itself as text', async () => {
    const browser = await (await aPerson(farm, 'viewer')).browser();
    const { user_code } = await begin('<script>alert(1)</script>"\'&');
    for (const page of [await pageOf(new Browser(farm.url), user_code), await pageOf(browser, user_code)]) {
      expect(page.headers.get('content-security-policy')).toMatch(
        /^default-src 'none'; style-src 'sha256-[^']+'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
      );
      expect(page.headers.get('x-content-type-options')).toBe('nosniff');
      expect(page.headers.get('cache-control')).toBe('no-store');
      expect(page.text).not.toMatch(/<script|\son\w+=|src=|href="(?!\/)/i);
    }
    const hostile = await pageOf(new Browser(farm.url), `"><script>alert(1)</script>`);
    expect(hostile.text).not.toContain('<script');
    const style = /<style>([\s\S]*)<\/style>/.exec(hostile.text)?.[1] ?? '';
    const hash = createHash('sha256').update(style).digest('base64');
    expect(hostile.headers.get('content-security-policy')).toContain(hash);
  });

  it('changes nothing by being looked at, however often', async () => {
    const browser = await (await aPerson(farm, 'viewer')).browser();
    const { device_code, user_code } = await begin();
    for (let n = 0; n < 3; n += 1) expect((await pageOf(browser, user_code)).status).toBe(200);
    expect((await browser.fetch(`${loginPaths.device}?user_code=${user_code}&action=approve`)).status).toBe(200);
    expect(errorOf(await poll(device_code))[1]).toBe('authorization_pending');
    const asking = await pageOf(browser, user_code);
    expect((await browser.submit(asking, { action: 'approve' })).status).toBe(200);
  });

  it('decides nothing without the token of its form, from another site, or for another browser', async () => {
    const person = await aPerson(farm, 'viewer');
    const [browser, another] = [await person.browser(), await person.browser()];
    const { device_code, user_code } = await begin();
    const asking = await pageOf(browser, user_code);
    const approve = { action: 'approve', user_code };
    const refused = [
      await browser.fetch(loginPaths.device, form(approve)),
      await browser.submit(asking, { ...approve, csrf: another.csrf ?? '' }),
      await another.submit(asking, approve),
      await browser.submit(asking, approve, { origin: 'http://evil.example' }),
      await browser.submit(asking, approve, { origin: 'null' }),
      await browser.submit(asking, approve, { 'sec-fetch-site': 'same-site' }),
    ];
    expect(refused.map(({ status }) => status)).toEqual(Array(6).fill(403));
    const stranger = new Browser(farm.url);
    expect((await stranger.submit(asking, approve)).text).toContain('name="password"');
    expect(errorOf(await poll(device_code))[1]).toBe('authorization_pending');
    expect((await browser.submit(asking, approve, { origin: farm.url, 'sec-fetch-site': 'same-origin' })).status).toBe(
      200,
    );
  });

  it('logs in only by a form that it has shown to that browser', async () => {
    const person = await aPerson(farm, 'viewer');
    const fields = { action: 'login', name: person.name, password: goodPassword };
    const bare = new Browser(farm.url);
    expect((await bare.fetch(loginPaths.device, form(fields))).status).toBe(403);
    const shown = await pageOf(new Browser(farm.url), '');
    expect((await bare.submit(shown, fields)).status).toBe(403);
    await pageOf(bare, '');
    expect((await bare.submit(shown, fields)).status).toBe(403);
    expect([...bare.cookies.keys()]).toEqual([expect.stringMatching(/-form$/)]);
  });

  it('says that name or password is wrong, has a new one chosen for a setup password, and lets a person leave', async () => {
    const made = await farm.admin.call(personCreate, { name: 'setup-person', role: 'viewer' });
    const browser = new Browser(farm.url);
    const login = await pageOf(browser, '');
    const fields = { action: 'login', name: 'setup-person', password: 'a S3CRET guess' };
    const wrong = await browser.submit(login, fields);
    expect([wrong.status, wrong.text]).toEqual([401, expect.stringContaining('is wrong')]);
    expect(wrong.text).not.toContain('S3CRET');
    const choosing = await browser.submit(wrong, { ...fields, password: made.setup_password });
    expect([choosing.status, choosing.text]).toEqual([403, expect.stringContaining('new_password')]);
    const short = { ...fields, password: made.setup_password, new_password: 'short' };
    expect((await browser.submit(choosing, short)).status).toBe(422);
    const inside = await browser.submit(choosing, { ...short, new_password: goodPassword });
    expect(inside.status).toBe(303);
    const page = await pageOf(browser, '');
    expect(page.text).toContain('setup-person');
    expect((await browser.submit(page, { action: 'logout' })).status).toBe(303);
    expect((await pageOf(browser, '')).text).toContain('name="password"');
  });
});

async function renew(at: TestController, principal: string, session: string | undefined, key: KeyObject) {
  const { challenge } = Challenge.parse((await at.fetch(identityPaths.challenge)).body);
  const signature = sign(null, Buffer.from(`token\n${challenge}\n${principal}\n`), key).toString('base64url');
  const asked = { principal, challenge, signature, ...(session !== undefined && { session }) };
  return await at.fetch(identityPaths.token, post(asked));
}

async function expire(deviceCode: string): Promise<void> {
  const owner = openDatabase({ url: farm.database.ownerUrl, max: 1 });
  await owner.run(
    statement('test.expire', 'update device_login set expires_at = clock_timestamp() where hash = $hash'),
    { hash: createHash('sha256').update(deviceCode).digest() },
  );
  await owner.close();
}
