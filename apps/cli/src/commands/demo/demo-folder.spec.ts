import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { buildOnce } from '../../../../../test/support/build.js';
import { tempDir } from '../../../../../test/support/temp-dir.js';
import { makeDemoFolder } from './demo-folder.js';

const itAsRoot = process.getuid?.() === 0 && process.platform === 'linux' ? it : it.skip;

beforeAll(buildOnce);

describe('the folder of a demonstration', () => {
  itAsRoot('goes with what a worker that was killed left mounted in it', async () => {
    const folder = await makeDemoFolder(undefined);
    const at = join(folder.data, 'workers', 'north', 'layer');
    mkdirSync(at, { recursive: true });
    writeFileSync(join(at, 'file'), 'content');
    execFileSync('mount', ['--bind', at, at]);
    execFileSync('mount', ['-o', 'remount,bind,ro', at]);
    await folder.remove();
    expect(existsSync(folder.root)).toBe(false);
    expect(readFileSync('/proc/self/mountinfo', 'utf8')).not.toContain(folder.root);
  });

  it('is none that holds something already', async () => {
    const named = tempDir('demo');
    writeFileSync(join(named, 'mine'), 'mine');
    await expect(makeDemoFolder(named)).rejects.toMatchObject({ code: 'misconfigured' });
    expect(readFileSync(join(named, 'mine'), 'utf8')).toBe('mine');
  });
});
