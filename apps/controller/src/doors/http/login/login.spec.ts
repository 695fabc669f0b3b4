import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { csrfHeader, loginPaths, personResetPassword, personSetRole, sessionList } from '#contracts';
import { Browser } from '../../../../../../test/support/a-browser.js';
import { aController, codeOf, post, type TestController } from '../../../../../../test/support/a-controller.js';
import { aPerson, goodPassword } from '../../../../../../test/support/people.js';

let farm: TestController;
/** Over the same database. */
let other: TestController;
beforeAll(async () => {
  farm = await aController();
  other = await aController({ database: farm.database, data: farm.data });
});
afterAll(async () => {
  await other.close();
  await farm.close();
});

describe('a login by password', () => {
  it('answers who came in with a CSRF token, and keeps the secret from scripts', async () => {
    const person = await aPerson(farm, 'operator');
    const browser = new Browser(farm.url);
    const answer = await browser.logIn(person.name, goodPassword);
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(answer.body).toMatchObject({ person: { id: person.id, name: person.name, role: 'operator' } });
    const [cookie = ''] = browser.setCookies;
    expect(cookie).toMatch(/^longshore-[\w-]{8}=[\w-]{43}; Max-Age=604800; Path=\/; HttpOnly; SameSite=Lax$/);
    expect(answer.text).not.toContain([...browser.cookies.values()][0]);
    const seen = await browser.fetch(loginPaths.session);
    expect(seen.body).toEqual(answer.body);
  });

  it('answers a wrong password and an unknown name alike, with no value in answer or log, and says when it is enough', async () => {
    const person = await aPerson(farm, 'viewer');
    const ask = (name: string) => farm.fetch(loginPaths.login, post({ name, password: 'a S3CRET guess' }));
    const [wrong, unknown] = [await ask(person.name), await ask('S3CRET')];
    expect([wrong.status, unknown.status]).toEqual([401, 401]);
    const { instance: _1, ...one } = Object(wrong.body);
    const { instance: _2, ...two } = Object(unknown.body);
    expect(one).toEqual(two);
    for (let n = 0; n < 12; n += 1) await ask(person.name);
    const enough = await ask(person.name);
    expect([enough.status, codeOf(enough)]).toEqual([429, 'too_many_requests']);
    expect(Number(enough.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(JSON.stringify([wrong, unknown, enough])).not.toContain('S3CRET');
    expect(farm.logged.join('\n')).not.toContain('S3CRET');
    expect(farm.logged.join('\n')).toContain('a login was refused');
    const metrics = (await farm.fetch('/metrics')).text;
    expect(metrics).toMatch(/longshore_logins_total\{outcome="too_many_requests"\} [1-9]/);
  });

  it('names what a new password lacks, and not the password', async () => {
    const short = await farm.fetch(loginPaths.password, post({ name: 'x', password: 'y', new_password: 'S3CRET' }));
    expect([short.status, short.body]).toMatchObject([422, { fields: [{ path: '/new_password', rule: 'min:12' }] }]);
    expect(short.text).not.toContain('S3CRET');
  });

  it('takes no page of another site, and no form', async () => {
    const person = await aPerson(farm, 'viewer');
    const browser = new Browser(farm.url);
    const body = post({ name: person.name, password: goodPassword });
    for (const headers of [{ origin: 'http://evil.example' }, { origin: 'null' }, { 'sec-fetch-site': 'cross-site' }])
      expect(codeOf(await browser.fetch(loginPaths.login, body, headers))).toBe('csrf_refused');
    const form = new URLSearchParams({ name: person.name, password: goodPassword });
    expect((await browser.fetch(loginPaths.login, { method: 'POST', body: form })).status).toBe(422);
    expect(browser.cookies.size).toBe(0);
    expect((await browser.fetch(loginPaths.login, body, { origin: farm.url })).status).toBe(200);
  });
});

describe("a browser's session", () => {
  it('comes by the door ui, and beside a bearer it does not count', async () => {
    const person = await aPerson(farm, 'operator');
    const browser = await person.browser();
    expect((await browser.call('whoami', {})).body).toMatchObject({
      result: { id: person.id, door: 'ui', by: 'session' },
    });
    const bearer = { authorization: `Bearer ${farm.admin.token}` };
    expect((await browser.call('whoami', {}, bearer)).body).toMatchObject({ result: { name: 'admin', door: 'cli' } });
    const forged = { authorization: 'Bearer nonsense' };
    expect((await browser.call('whoami', {}, forged)).status).toBe(401);
    expect((await browser.call('whoami', {}, { authorization: 'Basic x' })).status).toBe(401);
  });

  it('does nothing without its CSRF token, or with one of another session', async () => {
    const person = await aPerson(farm, 'operator');
    const [browser, another] = [await person.browser(), await person.browser()];
    const submit = (headers: Record<string, string>) => browser.call('job_submit', { kind: 'echo' }, headers);
    for (const headers of [{}, { [csrfHeader]: '' }, { [csrfHeader]: another.csrf ?? '' }]) {
      const answer = await submit(headers);
      expect([answer.status, codeOf(answer)]).toEqual([403, 'csrf_refused']);
    }
    expect((await submit({ [csrfHeader]: browser.csrf ?? '' })).status).toBe(200);
    expect((await browser.fetch('/v1/operations')).status).toBe(200);
  });

  it('is known to every controller, and its cookie opens nothing after the logout', async () => {
    const person = await aPerson(farm, 'viewer');
    const browser = await person.browser();
    const stolen = new Browser(other.url);
    for (const [name, value] of browser.cookies) stolen.cookies.set(name, value);
    expect((await stolen.fetch(loginPaths.session)).status).toBe(200);
    expect(codeOf(await browser.fetch(loginPaths.logout, { method: 'POST' }))).toBe('csrf_refused');
    expect((await stolen.fetch(loginPaths.session)).status).toBe(200);
    const out = await browser.fetch(loginPaths.logout, { method: 'POST' }, { [csrfHeader]: browser.csrf ?? '' });
    expect([out.status, browser.cookies.size]).toEqual([204, 0]);
    expect((await stolen.fetch(loginPaths.session)).status).toBe(401);
    stolen.csrf = browser.csrf;
    expect((await stolen.call('whoami', {})).status).toBe(401);
    expect((await browser.fetch(loginPaths.logout, { method: 'POST' })).status).toBe(204);
  });

  it('S4.6 ends with another role and with a new password, at the next call, at another controller too', async () => {
    const person = await aPerson(farm, 'operator');
    const browser = await person.browser();
    expect((await browser.call('job_submit', { kind: 'echo' })).status).toBe(200);
    await farm.admin.call(personSetRole, { person: person.name, role: 'viewer' }, { confirm: true });
    expect((await browser.call('job_submit', { kind: 'echo' })).status).toBe(401);

    const again = await person.browser(other.url);
    expect(codeOf(await again.call('job_submit', { kind: 'echo' }))).toBe('not_allowed');
    await farm.admin.call(personResetPassword, { person: person.name }, { confirm: true });
    expect((await again.fetch(loginPaths.session)).status).toBe(401);
  });

  it('is another one after each login, and the one before is over', async () => {
    const person = await aPerson(farm, 'viewer');
    const browser = await person.browser();
    const before = new Browser(farm.url);
    for (const [name, value] of browser.cookies) before.cookies.set(name, value);
    expect((await browser.logIn(person.name, goodPassword)).status).toBe(200);
    expect([...browser.cookies]).not.toEqual([...before.cookies]);
    expect((await before.fetch(loginPaths.session)).status).toBe(401);
    expect((await browser.fetch(loginPaths.session)).status).toBe(200);
  });

  it('is listed to its person alone, who can end each', async () => {
    const [person, stranger] = [await aPerson(farm, 'viewer'), await aPerson(farm, 'viewer')];
    const [one, two] = [await person.browser(), await person.browser()];
    const foreign = await stranger.browser();
    const listed = sessionList.output.parse(Object(await one.call('session_list', {}).then(({ body }) => body)).result);
    expect(listed.sessions.map(({ current }) => current).sort()).toEqual([false, true]);
    const other_ = listed.sessions.find(({ current }) => !current)?.session_id ?? '';
    expect(codeOf(await foreign.call('session_revoke', { session_id: other_ }))).toBe('not_found');
    expect((await one.call('session_revoke', { session_id: other_ })).status).toBe(200);
    expect((await two.fetch(loginPaths.session)).status).toBe(401);
  });

  it('has a cookie that only this host and only https can set, where the farm is reached by https', async () => {
    const behindTls = await aController({ publicUrl: 'https://farm.example' });
    const person = await aPerson(behindTls, 'viewer');
    const browser = new Browser(behindTls.url);
    expect((await browser.logIn(person.name, goodPassword)).status).toBe(200);
    expect(browser.setCookies[0]).toMatch(
      /^__Host-longshore-[\w-]{8}=[\w-]{43}; .*Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    );
    // The proxy may ask us by another name than the page stands under.
    const origin = { origin: 'https://farm.example', [csrfHeader]: browser.csrf ?? '' };
    expect((await browser.fetch(loginPaths.logout, { method: 'POST' }, origin)).status).toBe(204);
    await behindTls.close();
  });
});
