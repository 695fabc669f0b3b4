import type { TokenSource } from '../controller/farm.js';
import { faultOf, type Log } from '../log.js';
import { writePrivateFile } from '../private-file.js';
import type { HeldLease } from './held-lease.js';

/**
 * Writes down what this worker holds, only where its owner names a file (0600): the demonstration shows that nobody can write with
 * it when the lease is over.
 */
export class TokenTrace {
  private writing: Promise<void> = Promise.resolve();

  constructor(
    private readonly path: string,
    private readonly tokens: TokenSource,
    private readonly log: Log,
  ) {
    log.warn('tokens are written to the file of LONGSHORE_WORKER_TRACE_TOKENS_FILE');
  }

  write(leases: readonly HeldLease[]): void {
    const jobs = Object.fromEntries(
      leases.map(({ job, fence, token }) => [job, { epoch: fence.epoch, lease_id: fence.lease_id, token }]),
    );
    this.writing = this.writing
      .then(async () => writePrivateFile(this.path, JSON.stringify({ worker: await this.tokens.token(), jobs })))
      .catch((error: unknown) => this.log.warn({ fault: faultOf(error) }, 'the tokens could not be written down'));
  }
}
