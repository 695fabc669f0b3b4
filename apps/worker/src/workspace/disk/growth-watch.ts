import { limits } from '#contracts';
import { machineClock } from '../../process/monotonic.js';
import { bytesIn } from './bytes-in.js';

const mebibyte = 1024 ** 2;

/** A look may cost a twentieth of the time: a folder of many files is counted less often. */
const restPerLook = 20;

interface Watched {
  readonly path: string;
  /** It may grow by so many bytes. */
  readonly mostBytes: number;
}

/**
 * Watches what a job writes beneath its folder: the workspace or the layer above it, its home, its temporary files. Where a
 * machine gives no quota to those who are not root, looking is what every disk can do; between two looks more may be written.
 */
export class GrowthWatch {
  private readonly found = Promise.withResolvers<string>();
  private next: NodeJS.Timeout | undefined;
  private closed = false;

  constructor(private readonly watched: Watched) {
    void this.begin();
  }

  /** A sentence for whoever asks why the job was ended; never settles where it stays within its limit. */
  get over(): Promise<string> {
    return this.found.promise;
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.next);
  }

  private async begin(): Promise<void> {
    await this.look(await bytesIn(this.watched.path));
  }

  private async look(before: number): Promise<void> {
    const since = machineClock.now();
    const grown = (await bytesIn(this.watched.path)) - before;
    if (this.closed) return;
    if (grown > this.watched.mostBytes) return this.found.resolve(sentence(this.watched.mostBytes));
    const rest = Math.max(limits.growthLookMs, restPerLook * (machineClock.now() - since));
    this.next = setTimeout(() => void this.look(before), rest).unref();
  }
}

const sentence = (bytes: number): string =>
  `It wrote more than the ${Math.round(bytes / mebibyte)} MB that one job may add to the disk of this machine, and was ended. Its owner can set \`session_mb\` of \`disk\` in worker.yaml.`;
