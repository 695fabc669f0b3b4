import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { link, mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { FarmError, systemCodeOf } from '#contracts';

/** Bytes by name: files under one folder that all controllers share, until the store is S3 (D23). */
export interface Objects {
  /**
   * Creates an object, durable before the promise resolves; it is whole or not there.
   * @returns `created`, or `exists` when the name is taken: what is there stays as it is
   * @throws FarmError too_large, disk_full
   */
  put(name: string, body: Readable, limit: { readonly bytes: number }): Promise<PutAnswer>;
  size(name: string): Promise<number | undefined>;
  read(name: string, range?: { readonly start: number; readonly end: number }): Readable;
  /** Names below a prefix folder, sorted. */
  list(prefix: string): Promise<readonly string[]>;
  remove(name: string): Promise<void>;
  /** Where the object lies, for programs such as git. */
  path(name: string): string;
}

export interface PutAnswer {
  readonly created: boolean;
  readonly bytes: number;
  readonly sha256: string;
}

export function openObjects(root: string): Objects {
  return new FolderObjects(root);
}

const segment = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/** Older than this, what is half written belongs to a process that died. */
const abandonedMs = 24 * 3_600_000;

class FolderObjects implements Objects {
  private incoming: Promise<string> | undefined;

  constructor(private readonly root: string) {}

  async put(name: string, body: Readable, limit: { readonly bytes: number }): Promise<PutAnswer> {
    const target = this.path(name);
    let part: string | undefined;
    try {
      await mkdir(dirname(target), { recursive: true, mode: 0o700 });
      part = join(await this.openedIncoming(), randomUUID());
      const written = await writeDurably(part, body, limit.bytes);
      return { ...written, created: await claimName(part, target) };
    } catch (error) {
      throw isNoSpace(error) ? new FarmError('disk_full', undefined, { cause: error }) : error;
    } finally {
      if (part !== undefined) await rm(part, { force: true });
    }
  }

  private openedIncoming(): Promise<string> {
    this.incoming ??= openIncoming(join(this.root, '.incoming')).catch((error: unknown) => {
      this.incoming = undefined;
      throw error;
    });
    return this.incoming;
  }

  async size(name: string): Promise<number | undefined> {
    try {
      return (await stat(this.path(name))).size;
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  read(name: string, range?: { readonly start: number; readonly end: number }): Readable {
    return createReadStream(this.path(name), range);
  }

  async list(prefix: string): Promise<readonly string[]> {
    try {
      const names = await readdir(this.path(prefix));
      return names
        .filter((name) => !name.startsWith('.'))
        .sort()
        .map((name) => `${prefix}/${name}`);
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
  }

  async remove(name: string): Promise<void> {
    await rm(this.path(name), { force: true, recursive: true });
  }

  path(name: string): string {
    const parts = name.split('/');
    if (!parts.every((part) => segment.test(part))) throw new TypeError('an object name has plain segments only');
    return join(this.root, ...parts);
  }
}

/** What is half written lies in one folder, on the same disk, so that what a killed process left is found. */
async function openIncoming(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const seen = await stat(path).catch(() => undefined);
    if (seen !== undefined && Date.now() - seen.mtimeMs > abandonedMs) await rm(path, { force: true });
  }
  return folder;
}

async function writeDurably(path: string, body: Readable, most: number): Promise<{ bytes: number; sha256: string }> {
  const hash = createHash('sha256');
  let bytes = 0;
  const file = await open(path, 'wx', 0o600);
  try {
    for await (const chunk of body) {
      const piece = Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk);
      bytes += piece.length;
      if (bytes > most) throw new FarmError('too_large', `The body is over ${most} bytes`);
      hash.update(piece);
      await file.write(piece);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return { bytes, sha256: hash.digest('hex') };
}

/** A hard link is the create-only rename: two writers of one name, one wins. */
async function claimName(part: string, target: string): Promise<boolean> {
  try {
    await link(part, target);
  } catch (error) {
    if (systemCodeOf(error) === 'EEXIST') return false;
    throw error;
  }
  const folder = await open(dirname(target), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
  return true;
}

const isMissing = (error: unknown): boolean => systemCodeOf(error) === 'ENOENT';
const isNoSpace = (error: unknown): boolean => systemCodeOf(error) === 'ENOSPC' || systemCodeOf(error) === 'EDQUOT';
