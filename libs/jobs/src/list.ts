import type { Queries } from '#store';
import type { JobRow } from './job.js';
import type { ListFilter, PastLease } from './queue.js';
import { queueSql } from './sql/queue.js';

export interface JobPage {
  readonly jobs: readonly (JobRow & { readonly leases: readonly PastLease[] })[];
  readonly next_cursor: string | null;
}

/** Newest first, each with its leases. The cursor is opaque to callers; one that is not ours shows the first page. */
export async function list(queries: Queries, filter: ListFilter): Promise<JobPage> {
  const { state = null, scope = null, worker = null, limit } = filter;
  const rows = await queries.all(queueSql.list, {
    state,
    scope,
    worker,
    before: sequenceOf(filter.cursor),
    limit: limit + 1,
  });
  const page = rows.slice(0, limit);
  const leases = await queries.all(queueSql.leasesOf, { jobs: page.map((job) => job.id) });
  const byJob = Map.groupBy(leases, (lease) => lease.job);
  return {
    jobs: page.map((job) => ({ ...job, leases: byJob.get(job.id) ?? [] })),
    next_cursor: rows.length > limit ? String(page.at(-1)?.seq) : null,
  };
}

function sequenceOf(cursor: string | undefined): number | null {
  return cursor !== undefined && /^[0-9]{1,15}$/.test(cursor) ? Number(cursor) : null;
}
