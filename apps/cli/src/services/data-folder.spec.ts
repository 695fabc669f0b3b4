import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { spawnTracked } from '../../../../test/support/processes.js';
import { tempDir } from '../../../../test/support/temp-dir.js';
import { openDataFolder } from './data-folder.js';
import { markOf } from './process-mark.js';

const lockOf = (folder: string, holder: unknown, number = 1) =>
  writeFileSync(join(folder, `lock.${number}`), JSON.stringify({ holder }));

describe('the data folder', () => {
  it('is made for its owner alone', async () => {
    const folder = join(tempDir(), 'deep/farm');
    await openDataFolder(folder);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(readdirSync(folder).every((name) => (statSync(join(folder, name)).mode & 0o077) === 0)).toBe(true);
  });

  it('opens again after it was given back, and after its process died', async () => {
    const folder = tempDir();
    await (await openDataFolder(folder)).release();
    const child = await spawnTracked('true', []);
    const dead = child.mark;
    await child.ended;
    lockOf(folder, dead, 7);

    await openDataFolder(folder);

    expect(readdirSync(folder).filter((name) => name.startsWith('lock'))).toEqual(['lock.8']);
  });

  it('is taken over from a dead process whose pid another one has now', async () => {
    const folder = tempDir();
    lockOf(folder, { ...markOf(process.pid), started: '1' });
    await expect(openDataFolder(folder)).resolves.toBeDefined();
  });

  it('is refused while another process holds it, naming that one and the way out', async () => {
    const folder = tempDir();
    const other = await spawnTracked('sleep', ['1000']);
    lockOf(folder, other.mark);
    await expect(openDataFolder(folder)).rejects.toMatchObject({
      code: 'conflict',
      detail: expect.stringContaining(`${other.pid}`),
      hint: expect.stringContaining('--data'),
    });
  });

  it('goes to exactly one of many that find a dead holder at once', async () => {
    const folder = tempDir();
    lockOf(folder, { pid: process.pid, started: '1' });
    const tried = await Promise.allSettled(Array.from({ length: 12 }, () => openDataFolder(folder)));
    expect(tried.filter((one) => one.status === 'fulfilled')).toHaveLength(1);
    for (const one of tried) if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'conflict' });
  });

  it('of another version is refused, naming both', async () => {
    const folder = tempDir();
    writeFileSync(join(folder, 'version'), '9\n');
    await expect(openDataFolder(folder)).rejects.toMatchObject({
      code: 'data_version',
      detail: expect.stringMatching(/version 9.*works with 1/),
      hint: expect.stringContaining('--data'),
    });
    expect(readFileSync(join(folder, 'version'), 'utf8')).toBe('9\n');
  });

  it('never is a folder that holds something else', async () => {
    const folder = tempDir();
    mkdirSync(join(folder, 'src'), { mode: 0o755 });
    await expect(openDataFolder(folder)).rejects.toMatchObject({ code: 'misconfigured' });
    expect(existsSync(join(folder, 'version'))).toBe(false);
  });
});
