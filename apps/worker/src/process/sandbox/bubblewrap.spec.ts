import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { tempDir } from '../../../../../test/support/temp-dir.js';
import { coverMounts, nodeMounts, readMounts, systemMounts } from './bubblewrap.js';

describe('what a sandbox shows', () => {
  it('is of the PATH the programs with their libraries, never what lies beside them, and nothing of the home', async () => {
    const [toolchain, home] = [tempDir('toolchain'), tempDir('home')];
    for (const folder of ['bin', 'lib', 'secrets']) mkdirSync(join(toolchain, folder));
    writeFileSync(join(toolchain, 'credentials.toml'), 'token');
    mkdirSync(join(home, 'bin'));
    const path = [join(toolchain, 'bin'), join(home, 'bin'), 'relative', '/usr/bin', '/no/such/bin'].join(delimiter);
    const shown = (await systemMounts(path, home)).map(({ at }) => at);
    const ours = shown.filter((at) => at.startsWith(toolchain) || at.startsWith(home));
    expect(ours).toEqual([join(toolchain, 'bin'), join(toolchain, 'lib')]);
  });

  it('is of /etc no file with secrets', async () => {
    const shown = (await systemMounts('/usr/bin', '/root')).map(({ at }) => at);
    const secret = ['/etc', '/etc/shadow', '/etc/ssh', '/etc/ssl', '/etc/ssl/private', '/etc/npmrc', '/etc/gitconfig'];
    expect(secret.filter((path) => shown.includes(path))).toEqual([]);
  });

  it('is of Node itself the program and its packages, and not the folder that holds them', async () => {
    const shown = (await nodeMounts()).map(({ at }) => at);
    expect(shown.filter((at) => !/\/(node|npm|npx|corepack|node_modules)$/.test(at))).toEqual([]);
  });

  it('covers a hidden place only where it would really be seen', async () => {
    const [home, other] = [tempDir('home'), tempDir('other')];
    const hidden = join(home, 'data');
    mkdirSync(hidden);
    writeFileSync(join(home, 'key'), 'secret');
    symlinkSync(hidden, join(home, 'link'));
    const shown = await readMounts([home]);
    const covers = await coverMounts([hidden, join(home, 'key'), join(home, 'gone'), other], shown);
    expect(covers).toEqual([
      { kind: 'cover', at: hidden },
      { kind: 'cover_file', at: join(home, 'key') },
    ]);
    // another folder stands there inside
    expect(await coverMounts([hidden], [{ kind: 'write', at: home, from: other }])).toEqual([]);
  });
});
