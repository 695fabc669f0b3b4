import { limits } from '#contracts';
import type { TeamParts } from '../parts.js';
import { sourceSql } from '../sql.js';
import { sourceName } from './task-store.js';

/** Drops uploads of an hour ago that no Task is still to take in (D19). Answers how many. */
export async function expireSources(parts: TeamParts): Promise<number> {
  const gone = await parts.database.all(sourceSql.expire, { expires_ms: limits.uploadExpiresMs });
  for (const { principal, sha256 } of gone) await parts.objects.remove(sourceName(principal, sha256));
  return gone.length;
}
