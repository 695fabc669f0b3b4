import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { configShow } from '#contracts';
import { aController } from '../../../../../test/support/a-controller.js';
import { aDatabase, type TestDatabase } from '../../../../../test/support/database.js';
import { tempDir } from '../../../../../test/support/temp-dir.js';
import { operations } from '../catalogue.js';

describe('config_show', () => {
  it('A3c.8 tells an admin what holds and who said so, and no secret', async () => {
    const data = tempDir('controller');
    writeFileSync(
      join(data, 'longshore.toml'),
      '[operations]\nproposal_changes_shown = 7\n[mcp.allowed]\nstatus = 1\n',
    );
    const farm = await aController({ data });
    const shown = await farm.admin.call(configShow, {});
    const told = Object.fromEntries(shown.settings.map(({ key, source, value }) => [key, [source, value]]));
    expect(told).toMatchObject({
      'operations.confirm_ttl_seconds': ['default', 300],
      'operations.max_pending_confirmations': ['default', 64],
      'operations.proposal_changes_shown': ['file', 7],
      'operations.lift_never': ['default', []],
      'api.mcp_enabled': ['default', false],
      'api.mcp_max_result_bytes': ['default', 256_000],
      'database.url_file': ['environment', null],
    });
    expect(shown).toMatchObject({ file: { path: join(data, 'longshore.toml'), found: true } });
    expect(JSON.stringify(shown)).not.toContain(farm.database.appUrl);
    expect(shown.warnings).toHaveLength(1);
    expect(farm.logged.filter((line) => line.includes('mcp.allowed.status'))).toHaveLength(1);
    await farm.close();
  });
});

describe('[mcp.allowed]', () => {
  /** Starts a controller over the same database with this file, asks it, and ends it. */
  async function started(database: TestDatabase, toml: string, data = tempDir('controller')) {
    writeFileSync(join(data, 'longshore.toml'), toml);
    const farm = await aController({ data, database });
    const { warnings } = await farm.admin.call(configShow, {});
    const rows = await rowsOf(database);
    await farm.close();
    return { warnings, rows };
  }

  async function rowsOf({ ownerUrl }: TestDatabase): Promise<readonly unknown[]> {
    const client = new pg.Client({ connectionString: ownerUrl });
    await client.connect();
    try {
      const { rows } = await client.query(
        'select target, owner, offered from operation_settings order by target, owner',
      );
      return rows;
    } finally {
      await client.end();
    }
  }

  const configured = (target: string, offered: boolean) => ({ target, owner: 'config', offered });

  it('T9 A3c.3 starts under a slip, an operation that is never offered, an absent plugin and a lift that can not be, with a warning each', async () => {
    const mutation = operations.find(
      ({ access, hasPreview }) => access.class === 'mutate' && access.ceiling === 'never' && !hasPreview,
    );
    const { warnings, rows } = await started(
      await aDatabase(),
      `[operations]\nlift_never = ["${mutation?.name}"]\n[mcp.allowed]\nstaus = true\nworker_pause = true\nmy_plugin = false\nstatus = false\n`,
    );
    expect(warnings).toEqual([
      expect.stringContaining(`${mutation?.name}`),
      expect.stringContaining('staus'),
      expect.stringContaining('worker_pause'),
      expect.stringContaining('my_plugin'),
    ]);
    expect(rows).toEqual([configured('status', false)]);
  });

  it('A3c.2 owns its rows: each start makes them what the file says, and people’s rows stay', async () => {
    const [database, data] = [await aDatabase(), tempDir('controller')];
    const first = await started(database, '[mcp.allowed]\nstatus = true\nqueue_list = true\n', data);
    expect(first.rows).toEqual([configured('queue_list', true), configured('status', true)]);
    const client = new pg.Client({ connectionString: database.ownerUrl });
    await client.connect();
    await client.query(`insert into operation_settings (target, owner, offered) values ('queue_list', 'user', false)`);
    await client.end();
    const second = await started(database, '[mcp.allowed]\nstatus = false\n', data);
    expect(second.rows).toEqual([{ target: 'queue_list', owner: 'user', offered: false }, configured('status', false)]);
    expect((await started(database, '', data)).rows).toEqual([{ target: 'queue_list', owner: 'user', offered: false }]);
  });

  it('A3c.7 leaves the rows of a newer generation as they are, and says so', async () => {
    const [database, data] = [await aDatabase(), tempDir('controller')];
    await started(database, 'generation = 2\n[mcp.allowed]\nstatus = false\n', data);
    const old = await started(database, 'generation = 1\n[mcp.allowed]\nstatus = true\n', data);
    expect(old.rows).toEqual([configured('status', false)]);
    expect(old.warnings).toEqual([expect.stringMatching(/generation 1, and generation 2 is in force/)]);
  });
});
