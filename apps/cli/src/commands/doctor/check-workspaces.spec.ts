import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { buildOnce } from '../../../../../test/support/build.js';
import { tempDir } from '../../../../../test/support/temp-dir.js';
import { checkWorkspaces } from './check-workspaces.js';

describe('the doctor', () => {
  it('W11 tries each backend of workspaces where the data will lie, says which is used and why a better one is not, and leaves nothing', async () => {
    await buildOnce();
    const folder = tempDir('data');
    const findings = await checkWorkspaces(join(folder, 'not', 'yet'));
    expect(findings.map(({ name }) => name)).toEqual(['workspace overlay', 'workspace reflink', 'workspace clone']);
    const used = findings.findIndex(({ found }) => found.startsWith('works, and is used'));
    expect(used).toBeGreaterThanOrEqual(0);
    for (const [place, { state, found, fix }] of findings.entries()) {
      expect(found).not.toBe('');
      expect(state).toBe(place < used ? 'warning' : 'ok');
      expect(fix === undefined).toBe(place >= used);
    }
    expect(readdirSync(folder)).toEqual([]);
  });
});
