import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { serviceTokenCreate, serviceTokenRevoke, whoami } from '#contracts';
import { aController, type TestController } from '../../../../test/support/a-controller.js';
import { runCli } from '../../../../test/support/answering-farm.js';

let farm: TestController;
beforeAll(async () => {
  farm = await aController();
});
afterAll(() => farm.close());

describe('a script with a service token', () => {
  it('uses every command with LONGSHORE_TOKEN and LONGSHORE_URL, whatever credential lies on the machine', async () => {
    const { token } = await farm.admin.call(serviceTokenCreate, { name: 'nightly', role: 'operator' });
    const env = { LONGSHORE_TOKEN: token, LONGSHORE_URL: farm.url, LONGSHORE_CREDENTIAL: '/nowhere' };
    const ran = await runCli(['whoami', '--json'], { env });
    expect([ran.exit, whoami.output.parse(JSON.parse(ran.stdout))]).toMatchObject([
      0,
      { role: 'operator', by: 'service_token' },
    ]);
  });

  it('is told the way out when its token is taken no more, and never shown it', async () => {
    const { token, token_id } = await farm.admin.call(serviceTokenCreate, { name: 'over' });
    await farm.admin.ask(serviceTokenRevoke.name, { token_id }, { confirm: true });
    const ran = await runCli(['status'], { env: { LONGSHORE_TOKEN: token, LONGSHORE_URL: farm.url } });
    expect(ran.exit).toBe(4);
    expect(ran.stderr).toContain('longshore service-token create');
    expect(ran.stderr).not.toContain(token);
  });

  it('does not send its token over plain HTTP to another machine', async () => {
    const ran = await runCli(['status', '--json'], {
      env: { LONGSHORE_TOKEN: 'secret', LONGSHORE_URL: 'http://farm.example.org' },
    });
    expect([ran.exit, JSON.parse(ran.stdout).error]).toMatchObject([
      2,
      { code: 'invalid_input', hint: 'Use its https address.' },
    ]);
  });
});
