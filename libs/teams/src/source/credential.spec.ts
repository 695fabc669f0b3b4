import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { newKey } from '../../../../test/support/git-origin.js';
import { tempDir } from '../../../../test/support/temp-dir.js';
import { checkCredential } from './credential.js';
import { fingerprintsOf, hostKeysOf } from './host-keys.js';
import { readSourceUrl } from './source-url.js';

const ssh = readSourceUrl('git@host.example:app.git');
const https = readSourceUrl('https://host.example/app.git');
const refused = (detail: string) =>
  expect.objectContaining({ code: 'source_refused', detail: expect.stringContaining(detail) });
const asKey = (private_key: string) => () => checkCredential({ kind: 'ssh_key', private_key }, ssh);

describe('a credential', () => {
  it('fits the road of its URL, or is refused', () => {
    const token = { kind: 'token', username: 'x', token: 'y' } as const;
    expect(() => checkCredential(token, https)).not.toThrow();
    expect(() => checkCredential({ kind: 'none' }, https)).not.toThrow();
    expect(() => checkCredential(token, ssh)).toThrow(refused('https URLs only'));
    expect(() => checkCredential({ kind: 'none' }, ssh)).toThrow(refused('needs a key'));
    expect(() => checkCredential({ kind: 'ssh_key', private_key: 'x' }, https)).toThrow(refused('ssh URLs only'));
  });

  it('is a private key that nobody has to type a passphrase for', () => {
    const folder = tempDir('keys');
    const plain = newKey(folder, 'plain');
    expect(asKey(readFileSync(plain, 'utf8'))).not.toThrow();
    expect(asKey(readFileSync(`${plain}.pub`, 'utf8'))).toThrow(refused('no private ssh key'));
    expect(asKey(readFileSync(newKey(folder, 'sealed', 'open sesame'), 'utf8'))).toThrow(refused('passphrase'));
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    expect(asKey(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString())).not.toThrow();
    const encrypted = privateKey.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' });
    expect(asKey(encrypted.toString())).toThrow(refused('passphrase'));
    const old = privateKey.export({ type: 'pkcs1', format: 'pem', cipher: 'aes-128-cbc', passphrase: 'x' });
    expect(asKey(old.toString())).toThrow(refused('passphrase'));
    expect(asKey('PuTTY-User-Key-File-3: ssh-ed25519')).toThrow(refused('PuTTY'));
  });
});

describe('host keys', () => {
  const key = (fill: number) => Buffer.alloc(32, fill).toString('base64');
  const other = `other.example ssh-ed25519 ${key(1)}`;
  const ofKey = newKey(tempDir('host'), 'host');
  const realKey = (): string => readFileSync(`${ofKey}.pub`, 'utf8').split(' ')[1] ?? '';

  it('are those of the one host: no other host of the file can pass for it', () => {
    const text = [`# comment`, other, `host.example,10.0.0.1 ssh-ed25519 ${key(2)} a comment`, ''].join('\n');
    expect(hostKeysOf(text, 'host.example', 22)).toBe(`host.example ssh-ed25519 ${key(2)}`);
    expect(hostKeysOf(`[host.example]:2222 ssh-rsa ${key(3)}`, 'host.example', 2222)).toBe(
      `[host.example]:2222 ssh-rsa ${key(3)}`,
    );
    for (const none of [other, '', 'host.example', `host.example ssh-ed25519 %%`])
      expect(() => hostKeysOf(none, 'host.example', 22)).toThrow(refused('None of the given host keys'));
  });

  it('are found under a hashed name, as ssh-keygen writes it', () => {
    const file = join(tempDir('known'), 'known_hosts');
    writeFileSync(file, `${other}\n[host.example]:2222 ssh-ed25519 ${realKey()}\n`);
    execFileSync('ssh-keygen', ['-q', '-H', '-f', file], { stdio: 'ignore' });
    const hashed = readFileSync(file, 'utf8');
    expect(hashed).not.toContain('host.example');
    expect(hostKeysOf(hashed, 'host.example', 2222)).toBe(`[host.example]:2222 ssh-ed25519 ${realKey()}`);
    expect(() => hostKeysOf(hashed, 'host.example', 22)).toThrow(refused('None of the given host keys'));
  });

  it('are shown by the fingerprint that ssh shows', () => {
    expect(fingerprintsOf(null)).toEqual([]);
    expect(fingerprintsOf(`h ssh-ed25519 ${key(2)}`)).toEqual([
      expect.stringMatching(/^ssh-ed25519 SHA256:[\w+/]{43}$/),
    ]);
  });
});
