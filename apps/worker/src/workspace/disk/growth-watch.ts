import { limits } from '#contracts';
import { machineClock } from '../../process/monotonic.js';
import { bytesIn as bytesBeneath } from './bytes-in.js';

const mebibyte = 1024 ** 2;

/** A look may cost a twentieth of the time: a folder of many files is counted less often. */
const restPerLook = 20;

interface Watched {
  readonly paths: readonly string[];
  /** Together they may grow by so many bytes. */
  readonly mostBytes: number;
}

/**
 * Watches what a job writes beneath its folders: the workspace or the layer above it, its home, its temporary files. Where a
 * machine gives no quota to those who are not root, looking is what every disk can do; between two looks more may be written.
 */
export class GrowthWatch {
  private readonly found = Promise.withResolvers<string>();
  private next: NodeJS.Timeout | undefined;
  private closed = false;

  private constructor(
    private readonly watched: Watched,
    private readonly before: number,
  ) {
    this.lookLater(limits.growthLookMs);
  }

  /** Before anything of the job runs: what is there then is not counted. */
  static async open(watched: Watched): Promise<GrowthWatch> {
    return new GrowthWatch(watched, await bytesIn(watched.paths));
  }

  /** A sentence for whoever asks why the job was ended; never settles where it stays within its limit. */
  get over(): Promise<string> {
    return this.found.promise;
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.next);
  }

  private lookLater(ms: number): void {
    this.next = setTimeout(() => void this.look(), ms).unref();
  }

  private async look(): Promise<void> {
    const { paths, mostBytes } = this.watched;
    const since = machineClock.now();
    const grown = (await bytesIn(paths)) - this.before;
    if (this.closed) return;
    if (grown > mostBytes) return this.found.resolve(sentence(mostBytes));
    this.lookLater(Math.max(limits.growthLookMs, restPerLook * (machineClock.now() - since)));
  }
}

async function bytesIn(paths: readonly string[]): Promise<number> {
  const each = await Promise.all(paths.map(bytesBeneath));
  return each.reduce((sum, bytes) => sum + bytes, 0);
}

const sentence = (bytes: number): string =>
  `It wrote more than the ${Math.round(bytes / mebibyte)} MB that one job may add to the disk of this machine, and was ended. Its owner can set \`session_mb\` of \`disk\` in worker.yaml.`;
