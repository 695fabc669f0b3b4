import { faultOf, type Log } from '../log.js';
import { type DispatchFolder, type OwnerMarker, writeMarker } from './owner-marker.js';

/** The owner marker of a Dispatch that lives. What it says counts at once; the file follows, in order. */
export class OwnerNotes {
  private writing: Promise<void> = Promise.resolve();

  constructor(
    private readonly folder: DispatchFolder,
    private current: OwnerMarker,
    private readonly log: Log,
  ) {}

  get marker(): OwnerMarker {
    return this.current;
  }

  /** @throws FarmError `disk_full` */
  write(change: Partial<OwnerMarker>): Promise<void> {
    const marker = { ...this.current, ...change };
    this.current = marker;
    const written = this.writing.then(() => writeMarker(this.folder, marker));
    this.writing = written.catch(() => undefined);
    return written;
  }

  /** The same where a file that is behind costs no work. */
  async note(change: Partial<OwnerMarker>): Promise<void> {
    await this.write(change).catch((error: unknown) =>
      this.log.warn({ fault: faultOf(error) }, 'the owner marker could not be written'),
    );
  }
}
