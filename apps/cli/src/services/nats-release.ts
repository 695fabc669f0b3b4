import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { execa } from 'execa';
import { fetch } from 'undici';
import { FarmError } from '#contracts';
import { childEnvironment } from './child-environment.js';

/** One published archive of nats-server: where it is and what its bytes must be. */
export interface NatsRelease {
  readonly url: string;
  readonly sha256: string;
}

const version = '2.14.0';
const sums: Readonly<Record<string, string>> = {
  'linux-amd64': '3d8b74dfad39af184c765a6dd120441ed1c648d6672eddf6b304f222661251b8',
  'linux-arm64': 'ce7dc5f7d97b70dabc38b13157fed28d7d06227860676143c15c62c5c297996c',
  'darwin-amd64': 'c307afaa5810dea24bfe5bb0cd895ddc7c47946f359823336ef3be1a41bdddfa',
  'darwin-arm64': '36f28cf166e5ae5dd88d700a609c810b97ffad641e0c51b49cf8fae25fb3fac7',
};

/** The official archive for this machine, from the project's release page; undefined when there is none for it. */
export function officialRelease(): NatsRelease | undefined {
  const target = `${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}`;
  const sha256 = sums[target];
  if (sha256 === undefined) return undefined;
  const page = `https://github.com/nats-io/nats-server/releases/download/v${version}`;
  return { url: `${page}/nats-server-v${version}-${target}.tar.gz`, sha256 };
}

const archiveBytes = 100 * 1024 * 1024;
const downloadMs = 120_000;

/**
 * Fetches the archive into `folder` and unpacks it there, only when its SHA-256 is the pinned one.
 * Answers the path of nats-server. FarmError source_refused on another checksum, unavailable when it can not be had.
 */
export async function fetchRelease(release: NatsRelease, folder: string): Promise<string> {
  const archive = join(folder, 'nats-server.tar.gz');
  await download(release.url, archive);
  if ((await sha256Of(archive)) !== release.sha256) {
    throw new FarmError('source_refused', 'The archive of nats-server has another checksum than the pinned one.', {
      hint: 'Nothing of it was used. Install nats-server by hand, so that it is on the PATH.',
    });
  }
  const unpack = ['--extract', '--gzip', '--file', archive, '--directory', folder, '--strip-components=1'];
  await execa('tar', unpack, { env: childEnvironment(), extendEnv: false });
  return join(folder, 'nats-server');
}

async function download(url: string, to: string): Promise<void> {
  const response = await fetch(url, { signal: AbortSignal.timeout(downloadMs) });
  if (!response.ok || response.body === null)
    throw new FarmError('unavailable', `The release page answered ${response.status}.`);
  await pipeline(Readable.fromWeb(response.body), capped(archiveBytes), createWriteStream(to, { mode: 0o600 }));
}

function capped(bytes: number) {
  return async function* limit(chunks: AsyncIterable<Uint8Array>) {
    let seen = 0;
    for await (const chunk of chunks) {
      seen += chunk.length;
      if (seen > bytes) throw new FarmError('too_large', `The archive of nats-server is over ${bytes} bytes.`);
      yield chunk;
    }
  };
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}
