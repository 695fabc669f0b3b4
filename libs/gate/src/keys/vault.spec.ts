import { readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { tempDir } from '../../../../test/support/temp-dir.js';
import { openVault, type Vault } from './vault.js';

const secret = 'tøken-canary';
let folder: string;
let vault: Vault;
beforeAll(async () => {
  folder = join(tempDir('keys'), 'keys');
  vault = await openVault(folder);
});

const mended = { code: 'misconfigured', hint: expect.stringContaining('sealing.json') };
const openOther = (place: string, sealed: Uint8Array) => () => vault.open(place, sealed);

describe('the vault', () => {
  it('opens what it sealed, also in another process, from one private key file', async () => {
    const sealed = vault.seal('repository/1', secret);
    expect(sealed.includes(Buffer.from(secret))).toBe(false);
    expect(vault.open('repository/1', sealed)).toBe(secret);
    expect((await openVault(folder)).open('repository/1', sealed)).toBe(secret);
    expect(statSync(join(folder, 'sealing.json')).mode & 0o777).toBe(0o600);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  it('seals the same secret twice to other bytes', () => {
    expect(vault.seal('a', secret).equals(vault.seal('a', secret))).toBe(false);
    expect(vault.open('a', vault.seal('a', ''))).toBe('');
  });

  it('opens nothing at another place, and nothing that was changed or cut', () => {
    const sealed = vault.seal('repository/1', secret);
    expect(openOther('repository/2', sealed)).toThrow(expect.objectContaining(mended));
    for (let at = 0; at < sealed.length; at += 1) {
      const changed = Buffer.from(sealed);
      changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
      expect(openOther('repository/1', changed)).toThrow(expect.objectContaining(mended));
      expect(openOther('repository/1', sealed.subarray(0, at))).toThrow(expect.objectContaining(mended));
    }
  });

  it('says what to do when the key file is another one, and names no secret', async () => {
    const sealed = vault.seal('repository/1', secret);
    const copy = join(tempDir('keys'), 'keys');
    const other = await openVault(copy);
    expect(() => other.open('repository/1', sealed)).toThrow(expect.objectContaining(mended));
    rmSync(join(copy, 'sealing.json'));
    const again = await openVault(copy);
    expect(again.digest('x')).not.toBe(other.digest('x'));
    expect(readFileSync(join(copy, 'sealing.json'), 'utf8')).not.toContain(secret);
  });

  it('gives one name to one text', () => {
    const name = vault.digest('a');
    expect(name).toMatch(/^[0-9a-f]{64}$/);
    expect(vault.digest('a')).toBe(name);
    expect(vault.digest('b')).not.toBe(name);
  });
});
