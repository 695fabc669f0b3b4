import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type { FarmError } from '#contracts';
import { tempDir } from '../../../../test/support/temp-dir.js';
import { readSettings } from './read-settings.js';

async function pluginsOf(toml: string) {
  const data = tempDir('data');
  writeFileSync(join(data, 'longshore.toml'), toml);
  return (await readSettings({ LONGSHORE_DATA: data, DATABASE_URL: 'postgres://app@127.0.0.1/farm' })).plugins;
}

const refusalOf = (toml: string): Promise<string> =>
  pluginsOf(toml).then(
    () => 'it was taken',
    ({ detail }: FarmError) => detail,
  );

describe('[plugins.<name>]', () => {
  it('names a program; nothing else is open to it by default', async () => {
    expect(await pluginsOf('')).toEqual([]);
    expect(await pluginsOf('[plugins.my_notes]\ncommand = ["node", "/opt/notes.mjs"]\n')).toEqual([
      { name: 'my_notes', command: ['node', '/opt/notes.mjs'], reads: [], network: false, timeoutMs: 30_000 },
    ]);
    const all =
      '[plugins.a]\ncommand = ["x"]\nreads = ["/a"]\nnetwork = true\ntimeout_seconds = 5\n[plugins.b]\ncommand = ["y"]\n';
    expect(await pluginsOf(all)).toMatchObject([{ name: 'a', network: true, timeoutMs: 5_000 }, { name: 'b' }]);
  });

  it('is refused by key and rule, without a value', async () => {
    const refused: readonly (readonly [string, string])[] = [
      ['[plugins.a]\n', 'plugins.a command must be a list'],
      ['[plugins.a]\ncommand = "SECRET"\n', 'plugins.a command must be a list'],
      ['[plugins.a]\ncommand = ["x"]\nreads = ["SECRET"]\n', 'reads must be a list of absolute paths'],
      ['[plugins.a]\ncommand = ["x"]\ntimeout_seconds = 0\n', 'timeout_seconds must be a whole number from 1 to'],
      ['[plugins.a]\ncommand = ["x"]\nSECRET = 1\n', 'has keys that are no settings of a plugin'],
      ['[plugins."My Notes"]\ncommand = ["x"]\n', 'is no name of a plugin'],
      ['plugins = 1\n', 'must be a table for each plugin'],
    ];
    for (const [toml, why] of refused) {
      const told = await refusalOf(toml);
      expect(told).toContain(why);
      expect(told).not.toContain('SECRET');
    }
  });
});
