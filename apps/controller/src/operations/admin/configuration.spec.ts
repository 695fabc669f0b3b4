import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { configShow } from '#contracts';
import { aController } from '../../../../../test/support/a-controller.js';
import { tempDir } from '../../../../../test/support/temp-dir.js';

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
