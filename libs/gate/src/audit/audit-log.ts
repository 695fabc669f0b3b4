import { FarmError } from '#contracts';
import type { Database, Queries } from '#store';
import type { AuditKey } from '../keys/farm-keys.js';
import { type AuditedRow, auditSql } from '../sql/audit.js';
import { type Head, HeadFile } from './audit-head.js';
import { sealAudit } from './sealer.js';
import { type Verification, verifyAudit } from './verify.js';

export interface AuditFilter {
  readonly actor?: string | undefined;
  readonly agent?: string | undefined;
  readonly operation?: string | undefined;
  readonly door?: string | undefined;
  /** `error` stands for all errors. */
  readonly outcome?: string | undefined;
  readonly job?: string | undefined;
  /** Times in ISO 8601: from the first on, before the second. */
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly cursor?: string | undefined;
  readonly limit: number;
}

export interface AuditPage {
  readonly rows: readonly AuditedRow[];
  readonly next_cursor: string | null;
}

interface AuditLogOptions {
  readonly database: Database;
  readonly key: AuditKey;
  /** Folder of the farm's keys. */
  readonly folder: string;
}

/** The record of calls, as it is sealed, checked and read. */
export class AuditLog {
  private readonly file: HeadFile;

  constructor(private readonly options: AuditLogOptions) {
    this.file = new HeadFile(options.folder);
  }

  /** Seals what waits; for a sweep of every controller. */
  seal(): Promise<number> {
    return sealAudit(this.options.database, this.options.key, this.file);
  }

  /** Where the chain ended a moment ago; to be read before it is verified. */
  head(): Promise<Head | undefined> {
    return this.file.read();
  }

  verify(queries: Queries, head: Head | undefined, after: number): Promise<Verification> {
    return verifyAudit(queries, this.options.key, head, after);
  }

  /** Newest first. The cursor is opaque to callers; one that is not ours shows the first page. */
  async list(queries: Queries, filter: AuditFilter): Promise<AuditPage> {
    const { actor, agent, operation, door = null, outcome = null, job = null, limit } = filter;
    const rows = await queries.all(auditSql.list, {
      actors: await idsOf(queries, 'person', actor),
      agents: await idsOf(queries, 'agent', agent),
      kind: operation === undefined ? null : `call:${operation}`,
      door,
      outcome,
      job,
      since: filter.since ?? null,
      until: filter.until ?? null,
      before: sequenceOf(filter.cursor) ?? null,
      limit: limit + 1,
    });
    const page = rows.slice(0, limit);
    return { rows: page, next_cursor: rows.length > limit ? String(page.at(-1)?.seq) : null };
  }
}

/** An empty page would say that they did nothing: a name that nobody has is refused. Ids also find those who are gone. */
async function idsOf(queries: Queries, field: 'person' | 'agent', who: string | undefined): Promise<string[] | null> {
  if (who === undefined) return null;
  const found = await queries.all(auditSql.whoIs, { who });
  if (found.length > 0) return found.map(({ id }) => id);
  if (/^[a-z]_[a-z0-9]{8}$/.test(who)) return [who];
  throw new FarmError('not_found', `Nobody has the name given as ${field}`, {
    hint: 'longshore person list, agent list and worker list show who there is.',
  });
}

/** The number in a cursor of ours. */
export function sequenceOf(cursor: string | undefined): number | undefined {
  return cursor !== undefined && /^[0-9]{1,15}$/.test(cursor) ? Number(cursor) : undefined;
}
