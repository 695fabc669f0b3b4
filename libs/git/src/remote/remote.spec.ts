import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import {
  anHttpsOrigin,
  anSshOrigin,
  type HttpsOrigin,
  hasSshd,
  newKey,
  originHost,
  publishInto,
  type SshOrigin,
} from '../../../../test/support/git-origin.js';
import { aRepository, commitFiles, plainGit } from '../../../../test/support/repositories.js';
import { tempDir } from '../../../../test/support/temp-dir.js';
import { importBundle } from '../import-bundle.js';
import { openStore } from '../store.js';
import { inspectSource } from './inspect-source.js';
import { listRemote } from './list-remote.js';
import { bundleOfMirror, commitOf, fetchMirror, tidyMirror } from './mirror.js';
import { type Remote, type RemoteCall, type RemoteCredential, withRemote } from './remote.js';

type NetworkRemote = Exclude<Remote, { protocol: 'file' }>;

let origin: HttpsOrigin;
beforeAll(async () => {
  origin = await anHttpsOrigin();
});

function remoteOf(name: string, credential: RemoteCredential = { kind: 'none' }, at = origin): NetworkRemote {
  const { port, caFile } = at;
  return {
    protocol: 'https',
    url: at.url(name),
    host: originHost,
    port,
    addresses: ['127.0.0.1'],
    credential,
    caFile,
  };
}

const reach = <T>(remote: Remote, use: (call: RemoteCall) => Promise<T>) => withRemote(remote, tempDir('scratch'), use);

function aMirror(): string {
  return join(tempDir('mirrors'), 'one.git');
}

describe('a remote over https', () => {
  it('is read at the one address that was judged, under its own name and certificate', async () => {
    const checkout = aRepository({ 'a.txt': 'a\n' });
    plainGit(checkout, ['tag', 'v1']);
    const second = commitFiles(checkout, { 'a.txt': 'b\n' }, 'Second');
    origin.publish('plain', checkout);
    const mirror = aMirror();
    await reach(remoteOf('plain'), async (call) => {
      expect(await listRemote(call, [])).toMatchObject({ defaultBranch: 'main' });
      await fetchMirror(mirror, call);
    });
    expect(await commitOf(mirror, 'main')).toBe(second);
    expect(await commitOf(mirror, 'v1')).toBe(plainGit(checkout, ['rev-parse', 'v1']));
    expect(await commitOf(mirror, 'refs/heads/main')).toBe(second);
    await expect(commitOf(mirror, 'nothing')).rejects.toMatchObject({ code: 'source_unavailable' });
  });

  it('is given its token from a private file, and the token stands in no argument, environment or URL', async () => {
    const secret = 'canary-of-a-token';
    origin.tokens.set('robot', secret);
    try {
      origin.publish('closed', aRepository());
      const seen = await reach(
        remoteOf('closed', { kind: 'token', username: 'robot', token: secret }),
        async (call) => {
          const folder = call.call.cwd ?? '';
          expect(statSync(folder).mode & 0o777).toBe(0o700);
          expect(readFileSync(join(folder, 'credentials'), 'utf8')).toContain(secret);
          expect(statSync(join(folder, 'credentials')).mode & 0o777).toBe(0o600);
          await fetchMirror(aMirror(), call);
          return { call: JSON.stringify(call), folder };
        },
      );
      expect(seen.call).not.toContain(secret);
      expect(() => readdirSync(seen.folder)).toThrow('ENOENT');
      expect(origin.asked.some(({ user }) => user === 'robot')).toBe(true);
      const wrong = reach(remoteOf('closed', { kind: 'token', username: 'robot', token: 'other' }), (call) =>
        listRemote(call, []),
      );
      await expect(wrong).rejects.toMatchObject({
        code: 'source_unavailable',
        detail: expect.stringContaining('credential'),
        hint: expect.stringContaining('--token-file'),
      });
      await expect(reach(remoteOf('closed'), (call) => listRemote(call, []))).rejects.toMatchObject({
        detail: expect.stringContaining('wants a credential'),
      });
    } finally {
      origin.tokens.clear();
    }
  });

  it('H30 follows no redirect, to another host or to its own', async () => {
    const other = await anHttpsOrigin();
    other.publish('moved', aRepository());
    origin.publish('moved', aRepository());
    for (const location of [other.url('moved'), `/moved.git`]) {
      origin.instead = (request, response) => {
        if (!request.url?.startsWith('/gone.git')) return false;
        response.writeHead(302, { location: `${location}${request.url.slice('/gone.git'.length)}` }).end();
        return true;
      };
      const asked = origin.asked.length;
      await expect(reach(remoteOf('gone'), (call) => listRemote(call, []))).rejects.toMatchObject({
        code: 'source_refused',
        detail: expect.stringContaining('redirects are not followed'),
      });
      expect(origin.asked.slice(asked).some(({ path }) => path.startsWith('/moved.git'))).toBe(false);
    }
    origin.instead = undefined;
    expect(other.asked).toEqual([]);
  });

  it('tells each thing that can be wrong with an origin, and how to mend it', async () => {
    const fails = (remote: Remote) => reach(remote, (call) => listRemote(call, [])).catch((error: unknown) => error);
    expect(await fails(remoteOf('missing'))).toMatchObject({
      detail: expect.stringContaining('no repository at this'),
    });
    const { caFile: _, ...untrusted } = { caFile: '', ...remoteOf('plain') };
    expect(await fails(untrusted)).toMatchObject({ hint: expect.stringContaining('LONGSHORE_SOURCE_CA_FILE') });
    expect(await fails({ ...remoteOf('plain'), port: 1, url: `https://${originHost}:1/plain.git` })).toMatchObject({
      detail: expect.stringContaining('can not be reached'),
    });
    origin.instead = (_request, response) => {
      response.writeHead(500, { 'content-type': 'text/plain' }).end('remote: Permission denied (publickey)');
      return true;
    };
    const broken = await fails(remoteOf('plain'));
    origin.instead = undefined;
    expect(broken).toMatchObject({ code: 'source_unavailable', detail: expect.stringContaining('breaks off') });
  });

  it('ends a fetch that has grown past the limit of a source, or takes too long, with all its processes', async () => {
    const big = aRepository({ 'big.bin': Buffer.from(Array.from({ length: 400_000 }, (_, n) => (n * 7919) % 251)) });
    commitFiles(big, { 'noise.bin': Buffer.from(crypto.getRandomValues(new Uint8Array(60_000))) }, 'Noise');
    origin.publish('big', big);
    const mirror = aMirror();
    await expect(
      reach(remoteOf('big'), (call) => fetchMirror(mirror, call, { limits: { sourceBytes: 20_000 } })),
    ).rejects.toMatchObject({ code: 'source_refused', detail: expect.stringContaining('limit of a source') });
    expect(() => statSync(mirror)).toThrow('ENOENT');

    origin.instead = () => true;
    await expect(
      reach(remoteOf('big'), (call) => fetchMirror(mirror, call, { limits: { fetchSeconds: 1 } })),
    ).rejects.toMatchObject({ code: 'timeout' });
    const gone = new AbortController();
    const waiting = reach(remoteOf('big'), (call) => fetchMirror(mirror, call, { signal: gone.signal }));
    gone.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'unavailable' });
    origin.instead = undefined;
    await reach(remoteOf('big'), (call) => fetchMirror(mirror, call));
  });
});

describe('a mirror', () => {
  it('H19 lends nothing: what a store took in stands when the origin is rewritten and the mirror cleaned', async () => {
    const checkout = aRepository({ 'a.txt': 'first\n' });
    const first = commitFiles(checkout, { 'b.txt': 'second\n' }, 'Second');
    origin.publish('rewritten', checkout);
    const mirror = aMirror();
    await reach(remoteOf('rewritten'), (call) => fetchMirror(mirror, call));
    const store = await openStore(join(tempDir('task'), 'store.git'));
    const bundle = join(tempDir('bundle'), 'source.bundle');
    await bundleOfMirror(mirror, { commit: first, path: bundle });
    expect(await importBundle(store, bundle)).toEqual({ head: first });

    plainGit(checkout, ['commit', '-q', '--amend', '-m', 'Rewritten']);
    plainGit(checkout, ['update-ref', '-d', 'ORIG_HEAD']);
    origin.publish('rewritten', checkout);
    await reach(remoteOf('rewritten'), (call) => fetchMirror(mirror, call));
    await tidyMirror(mirror);
    await expect(commitOf(mirror, first)).rejects.toMatchObject({ code: 'source_unavailable' });
    expect(plainGit(store.dir, ['fsck', '--strict', '--full', first])).toBe('');
    expect(plainGit(store.dir, ['show', `${first}:b.txt`])).toBe('second');
    expect(readdirSync(join(store.dir, 'objects', 'info'))).not.toContain('alternates');
  });

  it('has no commit that the origin took back, though its object may still lie there', async () => {
    const checkout = aRepository();
    const taken = commitFiles(checkout, { 'secret.txt': 'oops\n' }, 'Oops');
    origin.publish('back', checkout);
    const mirror = aMirror();
    await reach(remoteOf('back'), (call) => fetchMirror(mirror, call));
    expect(await commitOf(mirror, taken)).toBe(taken);
    plainGit(checkout, ['reset', '-q', '--hard', 'HEAD~1']);
    origin.publish('back', checkout);
    await reach(remoteOf('back'), (call) => fetchMirror(mirror, call));
    await expect(commitOf(mirror, taken)).rejects.toMatchObject({ code: 'source_unavailable' });
  });

  it('is made anew when a killed fetch left it locked or broken', async () => {
    origin.publish('mended', aRepository());
    const mirror = aMirror();
    await reach(remoteOf('mended'), (call) => fetchMirror(mirror, call));
    writeFileSync(join(mirror, 'objects', 'pack', 'tmp_pack_left'), 'half');
    writeFileSync(join(mirror, 'refs', 'heads', 'main.lock'), '');
    const checkout = aRepository({ 'new.txt': 'new\n' });
    origin.publish('mended', checkout);
    await reach(remoteOf('mended'), (call) => fetchMirror(mirror, call));
    expect(await commitOf(mirror, 'main')).toBe(plainGit(checkout, ['rev-parse', 'HEAD']));
    expect(readdirSync(join(mirror, 'objects', 'pack'))).not.toContain('tmp_pack_left');
  });

  it('runs no hook of its folder and takes no hook, filter or attribute from the origin', async () => {
    const checkout = aRepository({ '.gitattributes': '* filter=evil\n', 'a.txt': 'a\n' });
    const bare = origin.publish('hooked', checkout);
    const mark = join(tempDir('mark'), 'ran');
    const mirror = aMirror();
    await reach(remoteOf('hooked'), (call) => fetchMirror(mirror, call));
    mkdirSync(join(mirror, 'hooks'), { recursive: true });
    writeFileSync(join(mirror, 'hooks', 'reference-transaction'), `#!/bin/sh\ntouch ${mark}\n`, { mode: 0o755 });
    commitFiles(checkout, { 'b.txt': 'b\n' }, 'More');
    plainGit(checkout, ['push', '-q', '--mirror', bare]);
    await reach(remoteOf('hooked'), (call) => fetchMirror(mirror, call));
    expect(() => statSync(mark)).toThrow('ENOENT');
  });
});

describe('what a commit only points to', () => {
  it('is found: LFS pointers with the size of their files, submodules with their URLs', async () => {
    const pointer = (size: number) =>
      `version https://git-lfs.github.com/spec/v1\noid sha256:${'a'.repeat(64)}\nsize ${size}\n`;
    const checkout = aRepository({
      '.gitattributes': '*.psd filter=lfs diff=lfs merge=lfs -text\n',
      'art/one.psd': pointer(1000),
      'art/ünicode "x".psd': pointer(234),
      'plain.txt': `${'no pointer '.repeat(20)}\nsize 5\n`,
    });
    const inner = aRepository();
    const oid = plainGit(inner, ['rev-parse', 'HEAD']);
    plainGit(checkout, ['update-index', '--add', '--cacheinfo', `160000,${oid},libs/inner`]);
    plainGit(checkout, ['config', '-f', '.gitmodules', 'submodule.x.path', 'libs/inner']);
    plainGit(checkout, ['config', '-f', '.gitmodules', 'submodule.x.url', '../inner.git']);
    plainGit(checkout, ['add', '.gitmodules']);
    plainGit(checkout, ['commit', '-q', '-m', 'Submodule']);
    const report = await inspectSource(join(checkout, '.git'), plainGit(checkout, ['rev-parse', 'HEAD']));
    expect(report).toMatchObject({
      lfs: { files: 2, bytes: 1234 },
      submodules: [{ path: 'libs/inner', commit: oid, url: '../inner.git' }],
    });
    expect(report.lfs.paths).toContain('art/one.psd');
    const plain = aRepository();
    expect(await inspectSource(join(plain, '.git'), plainGit(plain, ['rev-parse', 'HEAD']))).toEqual({
      lfs: { files: 0, bytes: 0, paths: [] },
      submodules: [],
    });
  });
});

(hasSshd ? describe : describe.skip)('a remote over ssh', () => {
  let ssh: SshOrigin;
  let path: string;
  beforeAll(async () => {
    ssh = await anSshOrigin();
    path = publishInto(join(tempDir('ssh-origin'), 'app.git'), aRepository({ 'a.txt': 'over ssh\n' }));
  });

  const overSsh = (key: string, hostKeys?: string): Remote => ({
    protocol: 'ssh',
    url: ssh.url(path),
    host: originHost,
    port: ssh.port,
    addresses: ['::1', '127.0.0.1'],
    credential: { kind: 'ssh_key', key },
    ...(hostKeys !== undefined && { hostKeys }),
  });

  it('is read with its key and the known host key, and a first contact tells the key that it met', async () => {
    const mirror = aMirror();
    const learned = await reach(overSsh(ssh.key.trimEnd()), async (call) => {
      expect(JSON.stringify(call)).not.toContain(ssh.key.split('\n')[1]);
      await fetchMirror(mirror, call);
      return call.learnedHostKeys();
    });
    expect(learned).toContain(ssh.hostKeys.trim());
    expect(await commitOf(mirror, 'main')).toMatch(/^[0-9a-f]{40}$/);
    await reach(overSsh(ssh.key, ssh.hostKeys), (call) => listRemote(call, []));
  });

  it('says when the key is not accepted, and when the host shows another one than it did', async () => {
    const stranger = readFileSync(newKey(tempDir('key'), 'stranger'), 'utf8');
    await expect(reach(overSsh(stranger), (call) => listRemote(call, []))).rejects.toMatchObject({
      code: 'source_unavailable',
      detail: expect.stringContaining('does not accept the ssh key'),
    });
    const before = ssh.hostKeys;
    await ssh.changeHostKey();
    await expect(reach(overSsh(ssh.key, before), (call) => listRemote(call, []))).rejects.toMatchObject({
      code: 'source_refused',
      detail: expect.stringContaining('another key'),
      hint: expect.stringContaining('--host-keys'),
    });
  });
});
