import { createWriteStream, type WriteStream } from 'node:fs';
import { readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { objectPaths } from '#contracts';
import { unanswered } from '../controller/ask.js';
import { type Farm, roadTo } from '../controller/farm.js';
import { untilAnswered } from '../controller/until-answered.js';
import { isDiskFull } from '../private-file.js';

/** Bundles that are kept, the least used ones go first. */
const keptMost = 16;

interface Wanted {
  readonly job: string;
  readonly base: string;
  /** Another bundle, with these in it. */
  readonly submodules?: string | undefined;
  readonly jobToken: () => string;
  readonly signal: AbortSignal;
}

const nameOf = ({ base, submodules }: Pick<Wanted, 'base' | 'submodules'>): string =>
  submodules === undefined ? base : `${base}-${submodules}`;

/** Bundles of bases as files, by commit: fetched once, resumed where a download broke off, shared by all Dispatches from that base. */
export class BundleCache {
  private readonly fetching = new Map<string, Promise<string>>();

  constructor(
    private readonly folder: string,
    private readonly farm: Farm,
  ) {}

  /** @throws FarmError what the farm decided · the abort's reason */
  async get(wanted: Wanted): Promise<string> {
    const path = join(this.folder, `${nameOf(wanted)}.bundle`);
    if (await touched(path)) return path;
    const running = this.fetching.get(nameOf(wanted)) ?? this.start(wanted, path);
    return running.catch((error: unknown) => {
      // somebody else's download ended with their Dispatch: ours goes on from there
      wanted.signal.throwIfAborted();
      if (this.fetching.has(nameOf(wanted))) throw error;
      return this.start(wanted, path);
    });
  }

  /** It did not hold what it should: fetch it whole next time. */
  async drop(wanted: Pick<Wanted, 'base' | 'submodules'>): Promise<void> {
    for (const end of ['bundle', 'part']) await rm(join(this.folder, `${nameOf(wanted)}.${end}`), { force: true });
  }

  private start(wanted: Wanted, path: string): Promise<string> {
    const running = this.fetch(wanted, path).finally(() => this.fetching.delete(nameOf(wanted)));
    this.fetching.set(nameOf(wanted), running);
    return running;
  }

  private async fetch(wanted: Wanted, path: string): Promise<string> {
    const part = join(this.folder, `${nameOf(wanted)}.part`);
    await untilAnswered(() => this.download(wanted, part), { signal: wanted.signal });
    await rename(part, path);
    await this.dropOldest();
    return path;
  }

  private async download({ job, jobToken, signal }: Wanted, part: string): Promise<void> {
    const have = (await stat(part).catch(() => undefined))?.size ?? 0;
    const answer = await this.farm.get(roadTo(objectPaths.bundle, { job }), {
      jobToken: jobToken(),
      signal,
      ...(have === 0 ? {} : { range: `bytes=${have}-` }),
    });
    const resumes = answer.statusCode === 206;
    try {
      await keepWhatArrives(answer.body, createWriteStream(part, { flags: resumes ? 'a' : 'w', mode: 0o600 }), signal);
    } catch (error) {
      signal.throwIfAborted();
      throw isDiskFull(error) ? error : unanswered(error);
    }
  }

  private async dropOldest(): Promise<void> {
    const names = (await readdir(this.folder)).filter((name) => name.endsWith('.bundle'));
    const aged = await Promise.all(
      names.map(async (name) => ({
        name,
        used: (await stat(join(this.folder, name)).catch(() => undefined))?.mtimeMs ?? 0,
      })),
    );
    const old = aged.toSorted((a, b) => b.used - a.used).slice(keptMost);
    for (const { name } of old) await rm(join(this.folder, name), { force: true });
  }
}

/** Also when the line breaks: `pipeline` would throw away what it holds at that moment. */
async function keepWhatArrives(body: Readable, file: WriteStream, signal: AbortSignal): Promise<void> {
  file.once('error', (error) => body.destroy(error));
  body.pipe(file, { end: false });
  try {
    await finished(body, { signal });
  } finally {
    file.end();
    await finished(file).catch(() => undefined);
  }
}

async function touched(path: string): Promise<boolean> {
  const now = new Date();
  return utimes(path, now, now).then(
    () => true,
    () => false,
  );
}
