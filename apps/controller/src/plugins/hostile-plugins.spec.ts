import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { pluginList } from '#contracts';
import { aController, codeOf, type TestController } from '../../../../test/support/a-controller.js';
import { tempDir } from '../../../../test/support/temp-dir.js';
import { waitUntil } from '../../../../test/support/wait-until.js';
import type { PluginSettings } from '../configuration/settings.js';

const none = { type: 'object', properties: {}, additionalProperties: false };
const manifestOf = (...names: string[]) => ({
  manifest: {
    protocol: 1,
    version: '1',
    operations: names.map((name) => ({
      name,
      summary: 'For a test.',
      class: 'mutate',
      preview: true,
      input: none,
      output: none,
    })),
  },
});
const tell = (message: object) => `process.stdout.write(${JSON.stringify(`${JSON.stringify(message)}\n`)});`;

/** Plain programs that speak the protocol as they like. */
const sources = {
  twice: `${tell(manifestOf('a'))}${tell(manifestOf('a', 'b'))}process.stdin.resume();`,
  loud: `${tell(manifestOf('a'))}setInterval(() => { for (let n = 0; n < 100; n += 1) ${tell({ id: 999, output: {} })} }, 1);`,
  holding: `${tell(manifestOf('a'))}process.stdin.resume();`,
  looking: `import { readdirSync } from 'node:fs'; let found = 'nothing';
    try { found = readdirSync(process.argv[2]).length > 0 ? 'things' : 'nothing'; } catch {}
    const manifest = ${JSON.stringify(manifestOf('a').manifest)}; manifest.version = found;
    process.stdout.write(JSON.stringify({ manifest }) + '\\n'); process.stdin.resume();`,
};

function pluginOf(name: keyof typeof sources, more: Partial<PluginSettings> = {}, ...args: string[]): PluginSettings {
  const file = join(tempDir('plugin'), `${name}.mjs`);
  writeFileSync(file, sources[name]);
  return { name, command: ['node', file, ...args], reads: [], network: false, timeoutMs: 3_000, ...more };
}

let farm: TestController;
beforeAll(async () => {
  // The farm's folder by a link: what may be read lies around the real one.
  const disk = tempDir('disk');
  mkdirSync(join(disk, 'farm'));
  const data = join(tempDir('links'), 'farm');
  symlinkSync(join(disk, 'farm'), data);
  farm = await aController({
    data,
    plugins: [
      pluginOf('twice'),
      pluginOf('loud'),
      pluginOf('holding'),
      pluginOf('looking', { reads: [disk] }, join(disk, 'farm')),
    ],
  });
});

const statusOf = async (name: string) =>
  (await farm.admin.call(pluginList, {})).plugins.find((plugin) => plugin.name === name);
const stateOf = (name: string, state: string) => waitUntil(async () => (await statusOf(name))?.state === state);

describe('a hostile plugin', () => {
  it('is disabled when it says a second time what it is, and has nothing of what it said', async () => {
    await stateOf('twice', 'disabled');
    expect(await statusOf('twice')).toMatchObject({ reason: 'it said a second time what it is', operations: [] });
  });

  it('is disabled when it answers what it was not asked, and floods nobody', async () => {
    await stateOf('loud', 'disabled');
    expect(await statusOf('loud')).toMatchObject({ reason: 'it answered what it was not asked' });
  });

  it('that does not say what it would do keeps few calls waiting, and no other caller', async () => {
    await stateOf('holding', 'up');
    const asked = Array.from({ length: 40 }, () => farm.admin.ask('holding.a', {}));
    expect((await farm.admin.ask('status', {})).status).toBe(200);
    const codes = (await Promise.all(asked)).map(codeOf);
    expect(codes.filter((code) => code === 'timeout')).toHaveLength(2);
    expect(codes.filter((code) => code === 'unavailable')).toHaveLength(38);
  });

  it("H45 does not see the farm's folder by its real name either, where the farm knows it by a link", async () => {
    await stateOf('looking', 'up');
    expect(await statusOf('looking')).toMatchObject({ version: 'nothing' });
  });
});
