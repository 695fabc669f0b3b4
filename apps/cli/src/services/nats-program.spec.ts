import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { execa } from 'execa';
import { tempDir } from '../../../../test/support/temp-dir.js';
import { natsProgram } from './nats-program.js';

const fake = '#!/bin/sh\necho nats-server for a test\n';
const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

function script(folder: string, name: string, text: string): string {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, name);
  writeFileSync(path, text);
  chmodSync(path, 0o755);
  return path;
}

/** The release page of a test: the archive as the project packs it. */
async function releasePage(status = 200) {
  const folder = tempDir('release');
  script(join(folder, 'nats-server-v9.9.9-test'), 'nats-server', fake);
  await execa('tar', ['--create', '--gzip', '--file', 'archive.tar.gz', 'nats-server-v9.9.9-test'], { cwd: folder });
  const archive = readFileSync(join(folder, 'archive.tar.gz'));
  const server = createServer((_request, response) => response.writeHead(status).end(archive)).listen(0, '127.0.0.1');
  servers.push(server);
  await new Promise((resolve) => server.once('listening', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/nats-server.tar.gz`,
    sha256: createHash('sha256').update(archive).digest('hex'),
  };
}

/** A machine with nothing but what the test puts on its PATH. */
function machine() {
  const folder = tempDir('machine');
  return { data: join(folder, 'data'), cache: join(folder, 'cache'), path: [join(folder, 'path')], folder };
}

const nowhere = { url: 'http://127.0.0.1:9/', sha256: '' };

describe('nats-server is found or fetched', () => {
  it('on the PATH first', async () => {
    const { path, ...rest } = machine();
    const present = script(path[0] ?? '', 'nats-server', fake);
    expect(await natsProgram({ ...rest, path, release: nowhere })).toBe(present);
  });

  it('from the official release when its checksum is the pinned one, once for all farms of the user', async () => {
    const one = machine();
    const found = await natsProgram({ ...one, release: await releasePage() });
    expect(found).toBe(join(one.data, 'bin/nats-server'));
    expect(readFileSync(found, 'utf8')).toBe(fake);
    expect(statSync(found).mode & 0o777).toBe(0o700);

    const other = { ...machine(), cache: one.cache };
    expect(await natsProgram({ ...other, release: nowhere })).toBe(join(one.cache, 'nats-server'));
  });

  it('never from an archive with another checksum', async () => {
    const here = machine();
    const release = { ...(await releasePage()), sha256: '0'.repeat(64) };
    await expect(natsProgram({ ...here, release })).rejects.toMatchObject({
      code: 'misconfigured',
      detail: expect.stringContaining('another checksum'),
    });
    expect(existsSync(join(here.data, 'bin/nats-server'))).toBe(false);
    expect(existsSync(join(here.cache, 'nats-server'))).toBe(false);
  });

  it('from Debian’s package, unpacked and not installed, before the release', async () => {
    const dpkg = await execa('which', ['dpkg-deb'], { reject: false });
    if (dpkg.exitCode !== 0) return;
    const here = machine();
    const root = tempDir('deb');
    script(join(root, 'usr/sbin'), 'nats-server', fake);
    mkdirSync(join(root, 'DEBIAN'), { mode: 0o755 });
    chmodSync(root, 0o755);
    writeFileSync(
      join(root, 'DEBIAN/control'),
      'Package: nats-server\nVersion: 9.9.9\nArchitecture: all\nMaintainer: nobody <nobody@example.com>\nDescription: test\n',
    );
    const archive = join(here.folder, 'nats-server_9.9.9_all.deb');
    await execa(dpkg.stdout, ['--build', root, archive]);
    script(here.path[0] ?? '', 'dpkg-deb', `#!/bin/sh\nexec ${dpkg.stdout} "$@"\n`);
    script(here.path[0] ?? '', 'apt-get', `#!/bin/sh\n[ "$*" = "download nats-server" ] && cp ${archive} .\n`);

    const found = await natsProgram({ ...here, release: nowhere });

    expect(found).toBe(join(here.data, 'bin/nats-server'));
    expect(readFileSync(found, 'utf8')).toBe(fake);
  });

  it('by Homebrew', async () => {
    const here = machine();
    const brewed = join(here.folder, 'brew');
    script(
      here.path[0] ?? '',
      'brew',
      `#!/bin/sh\n[ "$1" = --prefix ] && echo ${brewed} && exit\n[ "$*" = "install nats-server" ] || exit 1\nmkdir -p ${brewed}/bin && touch ${brewed}/bin/nats-server\n`,
    );
    expect(await natsProgram({ ...here, release: nowhere })).toBe(join(brewed, 'bin/nats-server'));
  });

  it('or one error lists what was tried and every way', async () => {
    const here = machine();
    script(here.path[0] ?? '', 'brew', '#!/bin/sh\nexit 1\n');
    const error = natsProgram({ ...here, release: await releasePage(404) });
    await expect(error).rejects.toMatchObject({
      code: 'misconfigured',
      detail: expect.stringMatching(/Homebrew: .*official release: .*404/),
      hint: expect.stringMatching(/apt-get install.*brew install.*nats-io\/nats-server.*NATS_URL/),
    });
  });
});
