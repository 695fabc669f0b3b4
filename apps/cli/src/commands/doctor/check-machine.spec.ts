import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { tempDir } from '../../../../../test/support/temp-dir.js';
import { checkDataFolder, checkDisk, checkGit, checkNats, checkNode, checkPostgres } from './check-machine.js';

describe('the doctor', () => {
  it('names a Node that is too old, and the fix', () => {
    expect(checkNode('24.1.0').state).toBe('ok');
    expect(checkNode('20.20.2')).toMatchObject({ state: 'broken', fix: expect.stringContaining('npm ci') });
  });

  it('names a data folder that others may enter, and the command that closes it', async () => {
    const folder = tempDir('open');
    expect((await checkDataFolder(folder)).state).toBe('ok');
    chmodSync(folder, 0o755);
    expect(await checkDataFolder(folder)).toMatchObject({ state: 'broken', fix: `chmod 700 '${folder}'` });
    expect((await checkDataFolder(join(folder, 'not-yet'))).state).toBe('ok');
  });

  it('finds what every machine needs here, and warns of a nats-server that must be fetched first', async () => {
    expect(await checkGit()).toMatchObject({ state: 'ok' });
    expect(await checkPostgres(undefined)).toMatchObject({ state: 'ok', found: expect.stringContaining('18.') });
    expect(await checkDisk(tempDir('disk'))).toMatchObject({ name: 'disk', found: expect.stringContaining('GiB') });
    const nowhere = { PATH: tempDir('empty'), HOME: tempDir('home') };
    expect(['ok', 'warning']).toContain(checkNats(nowhere, tempDir('data')).state);
    expect(checkNats({ NATS_URL: 'nats://somewhere' }, tempDir('data')).state).toBe('ok');
  });
});
