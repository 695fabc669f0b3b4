import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { FarmError, limits, newId, objectPaths } from '#contracts';
import type { LfsPointer } from '#git';
import { unanswered } from '../controller/ask.js';
import { type Farm, roadTo } from '../controller/farm.js';
import { untilAnswered } from '../controller/until-answered.js';
import { isDiskFull } from '../private-file.js';

interface Wanted {
  readonly job: string;
  readonly jobToken: () => string;
  readonly signal: AbortSignal;
}

/**
 * Contents of git-lfs as files, by sha256. Which of them a job may have is what the controller told of that job, never what lies
 * here.
 */
export class LfsCache {
  constructor(
    private readonly folder: string,
    private readonly farm: Farm,
  ) {}

  /** @throws FarmError what the farm decided · the abort's reason */
  async get(wanted: Wanted, { oid, size }: Pick<LfsPointer, 'oid' | 'size'>): Promise<string> {
    const path = join(this.folder, oid);
    if (await touched(path)) return path;
    const draft = join(this.folder, `draft-${newId()}`);
    try {
      await untilAnswered(() => this.download(wanted, oid, draft), { signal: wanted.signal });
      await this.makeRoom(size);
      await rename(draft, path);
    } finally {
      await rm(draft, { force: true });
    }
    return path;
  }

  /** Drafts that a dead boot left. Before the first claim. */
  async dropDrafts(): Promise<void> {
    for (const name of await readdir(this.folder))
      if (name.startsWith('draft-')) await rm(join(this.folder, name), { force: true });
  }

  private async download({ job, jobToken, signal }: Wanted, oid: string, draft: string): Promise<void> {
    const answer = await this.farm.get(roadTo(objectPaths.lfs, { job, oid }), { jobToken: jobToken(), signal });
    const hash = createHash('sha256');
    const hashed = async function* (chunks: Readable): AsyncGenerator<Buffer> {
      for await (const chunk of chunks) {
        if (!(chunk instanceof Uint8Array)) continue;
        hash.update(chunk);
        yield Buffer.from(chunk);
      }
    };
    try {
      await pipeline(answer.body, hashed, createWriteStream(draft, { mode: 0o600 }), { signal });
    } catch (error) {
      signal.throwIfAborted();
      throw isDiskFull(error) ? error : unanswered(error);
    }
    if (hash.digest('hex') !== oid)
      throw new FarmError('unavailable', 'A file of git-lfs came from the farm in another state than it was kept.');
  }

  /** The least used go first. One that is copied at this moment stays whole until that is done. */
  private async makeRoom(size: number): Promise<void> {
    const held = await Promise.all(
      (await readdir(this.folder))
        .filter((name) => /^[0-9a-f]{64}$/.test(name))
        .map(async (name) => {
          const seen = await stat(join(this.folder, name)).catch(() => undefined);
          return { name, bytes: seen?.size ?? 0, used: seen?.mtimeMs ?? 0 };
        }),
    );
    let bytes = size + held.reduce((sum, one) => sum + one.bytes, 0);
    for (const { name, bytes: its } of held.toSorted((a, b) => a.used - b.used)) {
      if (bytes <= limits.lfsBytes) return;
      await rm(join(this.folder, name), { force: true });
      bytes -= its;
    }
  }
}

async function touched(path: string): Promise<boolean> {
  const now = new Date();
  return utimes(path, now, now).then(
    () => true,
    () => false,
  );
}
