import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CredentialFile, loginPaths, personResetPassword, sessionList } from '#contracts';
import { Browser } from '../../../../../test/support/a-browser.js';
import { aController, type TestController } from '../../../../../test/support/a-controller.js';
import { runCli } from '../../../../../test/support/answering-farm.js';
import { aPerson, goodPassword } from '../../../../../test/support/people.js';
import { tempDir } from '../../../../../test/support/temp-dir.js';
import { runCommandLine } from '../../cli.js';

let farm: TestController;
beforeAll(async () => {
  farm = await aController();
});
afterAll(() => farm.close());

/** Runs `login` and lets the browser's person decide as soon as the code is shown. */
async function logIn(credential: string, browser: Browser, action: 'approve' | 'deny') {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()].map((one) => Object.assign(one, { isTTY: false }));
  if (!stdout || !stderr) throw new Error('no streams');
  let told = '';
  let decided: Promise<unknown> | undefined;
  stderr.resume();
  stdout.on('data', (chunk: Buffer) => {
    told += chunk.toString();
    const code = /"user_code":"([A-Z]{4}-[A-Z]{4})"/.exec(told)?.[1];
    if (code !== undefined) decided ??= decide(browser, code, action);
  });
  const exit = await runCommandLine(['login', farm.url, '--json'], {
    env: { PATH: process.env.PATH, HOME: tempDir('home'), LONGSHORE_CREDENTIAL: credential },
    cwd: tempDir('cwd'),
    stdin: Object.assign(new PassThrough(), { isTTY: false }),
    stdout,
    stderr,
    signal: new AbortController().signal,
  });
  await decided;
  return {
    exit,
    lines: told
      .trim()
      .split('\n')
      .map((line): unknown => JSON.parse(line)),
  };
}

async function decide(browser: Browser, code: string, action: string): Promise<void> {
  const page = await browser.fetch(`${loginPaths.device}?user_code=${code}`);
  await browser.submit(page, { action });
}

const cli = (credential: string, words: readonly string[], stdin = '') =>
  runCli([...words, '--json'], { env: { LONGSHORE_CREDENTIAL: credential }, stdin });

describe('longshore login', () => {
  it('is let in at a browser, keeps its credential for its owner alone, works, and is over with logout', async () => {
    const person = await aPerson(farm, 'operator');
    const credential = join(tempDir('login'), 'sub', 'credential.json');
    const { exit, lines } = await logIn(credential, await person.browser(), 'approve');
    expect([exit, lines.at(-1)]).toMatchObject([0, { logged_in: true, name: person.name, role: 'operator' }]);
    expect(statSync(credential).mode & 0o777).toBe(0o600);
    const kept = CredentialFile.parse(JSON.parse(readFileSync(credential, 'utf8')));
    expect(kept).toMatchObject({ url: farm.url, principal: person.id, session: expect.stringMatching(/^s_/) });

    const who = await cli(credential, ['whoami']);
    expect(JSON.parse(who.stdout)).toMatchObject({ name: person.name, by: 'session', door: 'cli' });
    const { sessions } = sessionList.output.parse(JSON.parse((await cli(credential, ['session', 'list'])).stdout));
    expect(sessions.find(({ current }) => current)).toMatchObject({ kind: 'cli', session_id: kept.session });

    const copy = join(tempDir('copy'), 'credential.json');
    writeFileSync(copy, readFileSync(credential), { mode: 0o600 });
    expect((await cli(credential, ['logout'])).exit).toBe(0);
    expect(existsSync(credential)).toBe(false);
    expect((await cli(copy, ['whoami'])).exit).toBe(4);
    const again = await cli(copy, ['logout']);
    expect([again.exit, again.stderr, existsSync(copy)]).toEqual([0, expect.stringContaining('over'), false]);
  });

  it('says when it was denied, and keeps nothing', async () => {
    const person = await aPerson(farm, 'viewer');
    const credential = join(tempDir('login'), 'credential.json');
    const { exit, lines } = await logIn(credential, await person.browser(), 'deny');
    expect([exit, lines.at(-1)]).toMatchObject([4, { ok: false, error: { code: 'not_allowed' } }]);
    expect(existsSync(credential)).toBe(false);
  });

  it("never takes the place of the credential of this machine's own farm, nor sends anything over an open road", async () => {
    const own = join(farm.data, 'credential.json');
    const before = readFileSync(own, 'utf8');
    const refused = await cli(own, ['login', farm.url]);
    expect([refused.exit, refused.stderr]).toEqual([6, expect.stringContaining('LONGSHORE_CREDENTIAL')]);
    expect((await cli(own, ['logout'])).exit).toBe(6);
    expect(readFileSync(own, 'utf8')).toBe(before);
    expect(JSON.parse((await cli(own, ['whoami'])).stdout)).toMatchObject({ name: 'admin', by: 'key' });

    const far = await cli(join(tempDir('login'), 'c.json'), ['login', 'http://farm.example']);
    expect([far.exit, far.stderr]).toEqual([2, expect.stringContaining('--insecure')]);
    const nobody = await cli(join(tempDir('login'), 'c.json'), ['login', 'http://127.0.0.1:9']);
    expect(nobody.exit).toBe(7);
  });
});

describe('longshore password', () => {
  it('takes both passwords by stdin or a private file, and tells nothing of them', async () => {
    const own = join(farm.data, 'credential.json');
    const person = await aPerson(farm, 'viewer');
    const browser = await person.browser();
    const wrong = await cli(own, ['password', '--name', person.name], `a S3CRET guess\nanother long password\n`);
    expect(wrong.exit).toBe(4);
    const short = await cli(own, ['password', '--name', person.name], `${goodPassword}\nS3CRET\n`);
    expect([short.exit, short.stderr]).toEqual([2, expect.stringContaining('12 characters')]);
    expect([wrong, short].map(({ stdout, stderr }) => stdout + stderr).join()).not.toContain('S3CRET');
    const done = await cli(own, ['password', '--name', person.name], `${goodPassword}\nanother long password\n`);
    expect(done.exit).toBe(0);
    expect((await browser.fetch(loginPaths.session)).status).toBe(401);
    expect((await new Browser(farm.url).logIn(person.name, 'another long password')).status).toBe(200);

    const { setup_password } = await farm.admin.call(personResetPassword, { person: person.name }, { confirm: true });
    const file = join(tempDir('password'), 'lines');
    writeFileSync(file, `${setup_password}\na third long password\n`, { mode: 0o644 });
    const open = await cli(own, ['password', '--name', person.name, '--file', file]);
    expect([open.exit, open.stderr]).toEqual([1, expect.stringContaining('chmod 600')]);
    writeFileSync(`${file}.0600`, readFileSync(file), { mode: 0o600 });
    expect((await cli(own, ['password', '--name', person.name, '--file', `${file}.0600`])).exit).toBe(0);
    expect((await new Browser(farm.url).logIn(person.name, 'a third long password')).status).toBe(200);
  });
});
