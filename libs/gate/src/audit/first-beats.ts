import type { Queries } from '#store';
import type { AuditedLease } from '../operation.js';
import { gateSql } from '../sql/gate.js';

/** Leases whose first beat is known to be in the audit; forgetting one costs a look. */
const remembered = 20_000;

/** Of a lease's beats only the first and the last leave a row; all are counted on the lease (A7.9). */
export class FirstBeats {
  private readonly known = new Set<string>();

  /** Of these leases those whose first beat is not in the audit yet. */
  async unaudited(queries: Queries, leases: readonly AuditedLease[]): Promise<readonly AuditedLease[]> {
    const unknown = leases.filter((lease) => !this.known.has(nameOf(lease)));
    const rows = await Promise.all(
      unknown.map(({ job, epoch }) =>
        queries.first(gateSql.beatAudited, { job_id: job, epoch, kind: 'call:job_heartbeat' }),
      ),
    );
    for (const lease of unknown) this.remember(nameOf(lease));
    return unknown.filter((_, index) => rows[index] === undefined);
  }

  private remember(name: string): void {
    if (this.known.size >= remembered) this.known.clear();
    this.known.add(name);
  }
}

const nameOf = ({ job, epoch }: AuditedLease): string => `${job}/${epoch}`;
