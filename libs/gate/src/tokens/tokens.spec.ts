import { createHmac, createPrivateKey, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { calculateJwkThumbprint, decodeJwt, decodeProtectedHeader } from 'jose';
import { z } from 'zod';
import { tempDir } from '../../../../test/support/temp-dir.js';
import { SigningKeys } from '../keys/signing-keys.js';
import { TokenIssuer } from './token-issuer.js';
import { jobKind, personKind, type TokenKind, workerKind } from './token-kinds.js';

const issuer = 'longshore:test';
let folder: string;
let keys: SigningKeys;
beforeAll(async () => {
  folder = tempDir('keys');
  keys = await SigningKeys.open(folder);
});

const of = <Claims extends { exp: number }>(kind: TokenKind<Claims>, by = keys) =>
  new TokenIssuer(kind, { keys: by, issuer });

const workerClaims = () => ({ aud: 'node' as const, sub: 'w_aaaaaaaa', boot: randomUUID() });
const personClaims = () => ({ aud: 'cli' as const, sub: 'p_aaaaaaaa', client_id: 'longshore-cli' });
const jobClaims = () => ({
  aud: 'job' as const,
  sub: randomUUID(),
  epoch: 3,
  lease_id: randomUUID(),
  kind: 'dispatch',
  holder: 'w_aaaaaaaa',
});

const refused = { code: 'unauthenticated' };

/** A token put together by hand: what an attacker can do. */
function forge(header: object, claims: object, signature: (text: string) => string): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${part(header)}.${part(claims)}`;
  return `${text}.${signature(text)}`;
}
const by = (key: KeyObject) => (text: string) => sign(null, Buffer.from(text), key).toString('base64url');

function personPayload(changes: object = {}): object {
  const iat = Math.floor(Date.now() / 1000);
  return { ...personClaims(), iss: issuer, iat, exp: iat + 600, jti: randomUUID(), ...changes };
}

async function currentPrivateKey(): Promise<KeyObject> {
  const stored = z.object({ current: z.object({ private_key: z.string() }) });
  const { current } = stored.parse(JSON.parse(await readFile(join(folder, 'signing.json'), 'utf8')));
  return createPrivateKey({ key: Buffer.from(current.private_key, 'base64url'), format: 'der', type: 'pkcs8' });
}

describe('a token', () => {
  it('D20 of a lease that is long over still says who held it, for late work; a forged one says nothing', async () => {
    const claims = jobClaims();
    const token = new TokenIssuer(jobKind, { keys, issuer, now: () => Date.now() - 86_400_000 }).mint(claims, 60);
    await expect(of(jobKind).verify(token)).rejects.toMatchObject(refused);
    await expect(of(jobKind).verifyPast(token)).resolves.toMatchObject(claims);
    const { privateKey } = generateKeyPairSync('ed25519');
    const [header = '', payload = ''] = token.split('.');
    const forged = `${header}.${payload}.${by(privateKey)(`${header}.${payload}`)}`;
    await expect(of(jobKind).verifyPast(forged)).rejects.toMatchObject(refused);
  });

  it('S4.1 of a job is under a secret that only controllers have, which goes with its key; one of the release before is read', async () => {
    const token = of(jobKind).mint(jobClaims(), 600);
    expect(decodeProtectedHeader(token)).toEqual({ alg: 'HS256', typ: 'job+jwt', kid: keys.current.kid });
    const [head, payload] = token.split('.');
    const hs256 = (secret: Buffer) => createHmac('sha256', secret).update(`${head}.${payload}`).digest('base64url');
    const secrets = [
      Buffer.from(keys.current.raw, 'base64url'),
      keys.current.verify.export({ format: 'der', type: 'spki' }),
      Buffer.from(keys.current.verify.export({ format: 'pem', type: 'spki' })),
      Buffer.alloc(32),
    ];
    for (const secret of secrets)
      await expect(of(jobKind).verify(`${head}.${payload}.${hs256(secret)}`)).rejects.toMatchObject(refused);
    const next = await SigningKeys.open(tempDir('keys'));
    await expect(of(jobKind, next).verify(token)).rejects.toMatchObject(refused);
    await expect(of({ ...jobKind, algorithms: ['HS256'] }).verify(token)).resolves.toBeDefined();

    const earlier = of({ ...jobKind, algorithms: ['EdDSA'] });
    await expect(of(jobKind).verify(earlier.mint(jobClaims(), 600))).resolves.toBeDefined();
    await expect(earlier.verify(token)).rejects.toMatchObject(refused);
  });

  it('S4.2 of a person is shaped after RFC 9068, and nothing of it may be missing', async () => {
    const token = of(personKind).mint(personClaims(), 600);
    expect(decodeProtectedHeader(token)).toMatchObject({ typ: 'at+jwt', alg: 'EdDSA' });
    expect(Object.keys(decodeJwt(token)).sort()).toEqual(['aud', 'client_id', 'exp', 'iat', 'iss', 'jti', 'sub']);
    await expect(of(personKind).verify(token)).resolves.toMatchObject(personClaims());

    const key = await currentPrivateKey();
    const header = { alg: 'EdDSA', typ: 'at+jwt', kid: keys.current.kid };
    await expect(of(personKind).verify(forge(header, personPayload(), by(key)))).resolves.toBeDefined();
    for (const claim of ['iss', 'exp', 'aud', 'sub', 'client_id', 'iat', 'jti'])
      await expect(
        of(personKind).verify(forge(header, personPayload({ [claim]: undefined }), by(key))),
      ).rejects.toMatchObject(refused);
  });

  it('S4.3 is of one kind: no validator takes another kind', async () => {
    const tokens = {
      worker: of(workerKind).mint(workerClaims(), 600),
      person: of(personKind).mint(personClaims(), 600),
      job: of(jobKind).mint(jobClaims(), 600),
    };
    const taken = async (token: string) => ({
      worker: await of(workerKind)
        .verify(token)
        .then(
          () => true,
          () => false,
        ),
      person: await of(personKind)
        .verify(token)
        .then(
          () => true,
          () => false,
        ),
      job: await of(jobKind)
        .verify(token)
        .then(
          () => true,
          () => false,
        ),
    });
    expect(await taken(tokens.worker)).toEqual({ worker: true, person: false, job: false });
    expect(await taken(tokens.person)).toEqual({ worker: false, person: true, job: false });
    expect(await taken(tokens.job)).toEqual({ worker: false, person: false, job: true });
  });

  it('S4.3 carries no grants, and ends when it says, give or take half a minute', async () => {
    let now = Date.now();
    const clocked = new TokenIssuer(jobKind, { keys, issuer, now: () => now });
    const token = clocked.mint(jobClaims(), 60);
    expect(Object.keys(decodeJwt(token)).sort()).toEqual(
      ['aud', 'epoch', 'exp', 'holder', 'iat', 'iss', 'jti', 'kind', 'lease_id', 'sub'].sort(),
    );
    now += 85_000;
    await expect(clocked.verify(token)).resolves.toBeDefined();
    now += 10_000;
    await expect(clocked.verify(token)).rejects.toMatchObject(refused);
  });

  it.each([
    ['alg none', () => forge({ alg: 'none', typ: 'at+jwt', kid: keys.current.kid }, personPayload(), () => '')],
    [
      'HS256 signed with our public key',
      () =>
        forge({ alg: 'HS256', typ: 'at+jwt', kid: keys.current.kid }, personPayload(), (text) =>
          createHmac('sha256', Buffer.from(keys.current.raw, 'base64url')).update(text).digest('base64url'),
        ),
    ],
    ['no kid', async () => forge({ alg: 'EdDSA', typ: 'at+jwt' }, personPayload(), by(await currentPrivateKey()))],
    [
      'a key of its own, embedded',
      () => {
        const { privateKey, publicKey } = generateKeyPairSync('ed25519');
        const jwk = publicKey.export({ format: 'jwk' });
        return forge({ alg: 'EdDSA', typ: 'at+jwt', kid: keys.current.kid, jwk }, personPayload(), by(privateKey));
      },
    ],
    [
      'a key elsewhere',
      () =>
        forge(
          { alg: 'EdDSA', typ: 'at+jwt', kid: 'other', jku: 'http://127.0.0.1/jwks' },
          personPayload(),
          by(generateKeyPairSync('ed25519').privateKey),
        ),
    ],
    [
      'another farm',
      async () =>
        forge(
          { alg: 'EdDSA', typ: 'at+jwt', kid: keys.current.kid },
          personPayload({ iss: 'longshore:other' }),
          by(await currentPrivateKey()),
        ),
    ],
    [
      'an audience that is none',
      async () =>
        forge(
          { alg: 'EdDSA', typ: 'at+jwt', kid: keys.current.kid },
          personPayload({ aud: 'node' }),
          by(await currentPrivateKey()),
        ),
    ],
    [
      'claims that nobody knows',
      async () =>
        forge(
          { alg: 'EdDSA', typ: 'at+jwt', kid: keys.current.kid },
          personPayload({ role: 'admin' }),
          by(await currentPrivateKey()),
        ),
    ],
    ['no token at all', () => 'Bearer'],
  ])('S4.1 S4.2 with %s is refused', async (_, make) => {
    await expect(of(personKind).verify(await make())).rejects.toMatchObject(refused);
  });
});

describe('the signing keys', () => {
  it('S4.4 are current and next, named by their thumbprint, in a file of their own', async () => {
    const fresh = tempDir('keys');
    const opened = await SigningKeys.open(fresh);
    const published = opened.jwks().keys;
    expect(published).toHaveLength(2);
    for (const { kid, ...jwk } of published)
      expect(kid).toBe(await calculateJwkThumbprint({ kty: 'OKP', crv: 'Ed25519', x: jwk.x ?? '' }));
    expect(JSON.stringify(published)).not.toContain('"d"');
    expect((await stat(join(fresh, 'signing.json'))).mode & 0o777).toBe(0o600);
  });

  it('S4.4 rotate without a refused token: the next was published before, the previous verifies on', async () => {
    let now = Date.now();
    const opened = await SigningKeys.open(tempDir('keys'), () => now);
    const tokens = of(workerKind, opened);
    await expect(opened.rotate()).rejects.toMatchObject({ code: 'conflict' });
    // As long as others may keep what we publish, and our own controllers what they read.
    now += 7 * 60_000;
    const [before] = [opened.jwks().keys.map(({ kid }) => kid)];
    const old = tokens.mint(workerClaims(), 600);
    await opened.rotate();
    expect(opened.current.kid).toBe(before[1]);
    await expect(tokens.verify(old)).resolves.toBeDefined();
    await expect(tokens.verify(tokens.mint(workerClaims(), 600))).resolves.toBeDefined();
    expect(opened.jwks().keys).toHaveLength(3);
  });

  it('S4.4 are not rotated again while a token of the previous one may live; then it goes with its tokens', async () => {
    let now = Date.now();
    const opened = await SigningKeys.open(tempDir('keys'), () => now);
    const tokens = of(workerKind, opened);
    const old = tokens.mint(workerClaims(), 86_400);
    await tokens.verify(old);
    now += 3_600_000;
    await opened.rotate();
    await expect(opened.rotate()).rejects.toMatchObject({ code: 'conflict' });
    now += 2 * 3_600_000;
    expect(opened.jwks().keys).toHaveLength(2);
    await expect(tokens.verify(old)).rejects.toMatchObject(refused);
    await opened.rotate();
    await expect(tokens.verify(old)).rejects.toMatchObject(refused);
  });

  it('S4.4 of another controller are found, with one look at the file a minute', async () => {
    const hours = 3_600_000;
    const shared = tempDir('keys');
    let now = Date.now();
    let later = now;
    const one = await SigningKeys.open(shared, () => later);
    const two = await SigningKeys.open(shared, () => now);
    await two.refresh();
    later += hours;
    await one.rotate();
    later += 2 * hours;
    await one.rotate();
    const token = of(workerKind, one).mint(workerClaims(), 600);
    await expect(of(workerKind, two).verify(token)).rejects.toMatchObject(refused);
    now += 60_000;
    await expect(of(workerKind, two).verify(token)).resolves.toBeDefined();
  });

  it('H36 are made once by controllers that start together', async () => {
    const shared = tempDir('keys');
    const opened = await Promise.all(Array.from({ length: 5 }, () => SigningKeys.open(shared)));
    expect(new Set(opened.map(({ current }) => current.kid)).size).toBe(1);
  });
});
