import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { tempDir } from '../../../../test/support/temp-dir.js';
import { readSettings } from './read-settings.js';

const database = 'postgres://app:S3CRET@127.0.0.1/longshore';

/** The settings under this longshore.toml and these variables. */
async function settingsOf(toml: string | undefined, variables: Record<string, string> = {}) {
  const data = tempDir('configuration');
  if (toml !== undefined) writeFileSync(join(data, 'longshore.toml'), toml);
  return await readSettings({ LONGSHORE_DATA: data, DATABASE_URL: database, ...variables });
}

/** What is said of them when they do not hold. */
async function refusalOf(toml: string, variables: Record<string, string> = {}): Promise<string> {
  return await settingsOf(toml, variables).then(
    () => 'it was taken',
    (error: Error) => error.message,
  );
}

describe('longshore.toml', () => {
  it('A3c.8 has its defaults where it is empty or missing', async () => {
    for (const toml of [undefined, '', '# nothing\n']) {
      const { operations, api, port, host } = await settingsOf(toml);
      expect(operations).toEqual({
        confirmTtlSeconds: 300,
        maxPendingConfirmations: 64,
        proposalChangesShown: 20,
        liftNever: [],
      });
      expect(api).toMatchObject({ mcpEnabled: false, mcpMaxResultBytes: 256_000 });
      expect([host, port]).toEqual(['127.0.0.1', 4180]);
    }
  });

  it('says what it says, the environment goes before it, and each setting tells who said it', async () => {
    const settings = await settingsOf(
      '[server]\nport = 4000\n[operations]\nconfirm_ttl_seconds = 60\nlift_never = ["agent_revoke"]\n[api]\nmcp_enabled = true\n',
      { LONGSHORE_PORT: '5000', LONGSHORE_MCP_ENABLED: '0', LONGSHORE_LEASE_MS: '' },
    );
    expect(settings.port).toBe(5000);
    expect(settings.api.mcpEnabled).toBe(false);
    expect(settings.operations).toMatchObject({ confirmTtlSeconds: 60, liftNever: ['agent_revoke'] });
    const told = Object.fromEntries(settings.configuration.settings.map(({ key, ...rest }) => [key, rest]));
    expect(told['server.port']).toMatchObject({ source: 'environment', value: 5000, variable: 'LONGSHORE_PORT' });
    expect(told['operations.confirm_ttl_seconds']).toMatchObject({ source: 'file', value: 60 });
    expect(told['jobs.lease_ms']).toMatchObject({ source: 'default', value: 30_000 });
    expect(told['database.url_file']).toMatchObject({ source: 'environment', value: null, secret: true });
  });

  it('takes secrets from files that it names, from its own folder on, and shows none', async () => {
    const data = tempDir('configuration');
    writeFileSync(join(data, 'database.url'), `${database}\n`);
    const toml = join(data, 'elsewhere.toml');
    writeFileSync(toml, '[database]\nurl_file = "database.url"\n[nats]\nurl = "nats://127.0.0.1:4222"\n');
    const settings = await readSettings({ LONGSHORE_DATA: tempDir('data'), LONGSHORE_CONFIG: toml });
    expect(settings.databaseUrl).toBe(database);
    const cloaked = await settingsOf('', { NATS_URL: 'nats://user:S3CRET@127.0.0.1:4222' });
    expect(cloaked.nats?.url).toContain('S3CRET');
    expect(JSON.stringify([settings.configuration, cloaked.configuration])).not.toContain('S3CRET');
    expect(await refusalOf('[nats]\nurl = "nats://user:S3CRET@127.0.0.1:4222"\n')).toMatch(
      /longshore\.toml:2: nats\.url must not hold a password: .*NATS_URL in the environment$/,
    );
  });

  it('A3c.5 refuses to start with broken TOML or a number out of range, and says where', async () => {
    expect(await refusalOf('[operations]\nconfirm_ttl_seconds = -1\n')).toMatch(
      /longshore\.toml:2: operations\.confirm_ttl_seconds must be a whole number from 1 to 86400; without it 300 holds$/,
    );
    expect(await refusalOf('\n[api]\nmcp_max_result_bytes = S3CRET\n')).toMatch(
      /longshore\.toml:3: this is no valid TOML/,
    );
    for (const wrong of ['"300"', '1.5', 'true', '999999999999', '[300]', '1979-05-27'])
      expect(await refusalOf(`[operations]\nconfirm_ttl_seconds = ${wrong}\n`)).toContain('must be a whole number');
  });

  it('tells all that does not hold at once, by line or variable, with the way out and without a value', async () => {
    const told = await refusalOf(
      '[server]\nport = "S3CRET"\n[api]\nmcp_enabled = "S3CRET"\n[operations]\nlift_never = "S3CRET"\nconfirm_ttl = 5\n',
      { LONGSHORE_LEASE_MS: 'S3CRET', LONGSHORE_TLS_CERT_FILE: '/S3CRET', DATABASE_URL: '' },
    );
    expect(told).toMatch(
      /longshore\.toml:2: server\.port must be a whole number from 0 to 65535; without it 4180 holds/,
    );
    expect(told).toMatch(/longshore\.toml:4: api\.mcp_enabled must be true or false/);
    expect(told).toMatch(/longshore\.toml:6: operations\.lift_never must be a list of names of operations/);
    expect(told).toMatch(
      /longshore\.toml:7: operations\.confirm_ttl is no setting; \[operations\] has confirm_ttl_seconds, /,
    );
    expect(told).toMatch(/LONGSHORE_LEASE_MS must be a whole number from 200 to 600000; without it 30000 holds/);
    expect(told).toContain('The file that LONGSHORE_TLS_CERT_FILE names can not be read');
    expect(told).toContain('DATABASE_URL is missing');
    expect(told).not.toContain('S3CRET');
  });

  it('A3c.5 skips what is neither true nor false under [mcp.allowed], with a warning that names the line', async () => {
    const { mcp, configuration } = await settingsOf(
      '[mcp.allowed]\nstatus = true\nqueue_list = "S3CRET"\nmy_plugin = 1\n',
    );
    expect(mcp.allowed).toEqual({ status: true });
    expect(configuration.warnings).toEqual([
      expect.stringMatching(/longshore\.toml:3: mcp\.allowed\.queue_list is neither true nor false and is skipped$/),
      expect.stringMatching(/longshore\.toml:4: mcp\.allowed\.my_plugin is neither true nor false and is skipped$/),
    ]);
  });

  it('A3c.4 takes the name of a plugin’s operation in quotes or as a nested table, and says how when they collide', async () => {
    const quoted = await settingsOf('[mcp.allowed]\nmy_plugin = true\n"my_plugin.wipe" = false\n');
    expect(quoted.mcp.allowed).toEqual({ my_plugin: true, 'my_plugin.wipe': false });
    const nested = await settingsOf('[mcp.allowed]\nmy_plugin.wipe = true\n[mcp.allowed.other]\nping = false\n');
    expect(nested.mcp.allowed).toEqual({ 'my_plugin.wipe': true, 'other.ping': false });
    const collision = settingsOf('[mcp.allowed]\nmy_plugin = false\nmy_plugin.wipe = true\n');
    await expect(collision).rejects.toMatchObject({
      code: 'misconfigured',
      detail: expect.stringMatching(/longshore\.toml:3: this is no valid TOML/),
      hint: expect.stringContaining('"my_plugin.wipe" = false'),
    });
  });

  it('names a file that was asked for and is not there', async () => {
    await expect(settingsOf(undefined, { LONGSHORE_CONFIG: '/nowhere/longshore.toml' })).rejects.toMatchObject({
      detail: expect.stringContaining('/nowhere/longshore.toml'),
    });
  });

  it('has one hash on controllers that differ in their address alone', async () => {
    const hashOf = async (toml: string) => (await settingsOf(toml)).configuration.hash;
    const one = await hashOf('[server]\nport = 1\n[mcp.allowed]\nstatus = true\n');
    expect(await hashOf('[mcp.allowed]\nstatus = true\n[server]\nport = 2\n')).toBe(one);
    expect(await hashOf('[mcp.allowed]\nstatus = false\n')).not.toBe(one);
  });
});
