import { stat } from 'node:fs/promises';
import { limits } from '#contracts';
import type { TeamParts } from '../parts.js';
import { sourceSql } from '../sql/teams.js';
import { sourceName } from './task-store.js';

/** Drops uploads of an hour ago that no Task is still to take in, and what broken uploads left (D19). Answers how many. */
export async function expireSources(parts: TeamParts): Promise<number> {
  const gone = await parts.database.all(sourceSql.expire, { expires_ms: limits.uploadExpiresMs });
  const names = gone.map(({ principal, sha256 }) => sourceName(principal, sha256));
  for (const name of names) await parts.objects.remove(name);
  const left = await findAbandoned(parts);
  for (const name of left) await parts.objects.remove(name);
  return names.length + left.length;
}

/** Files without a row, an hour old: a row always comes before its file takes its name. */
async function findAbandoned({ objects, database }: TeamParts): Promise<readonly string[]> {
  const found: string[] = [];
  for (const folder of await objects.list('sources')) {
    for (const name of await objects.list(folder)) {
      const [, principal = '', sha256 = ''] = name.split('/');
      if (await database.first(sourceSql.find, { principal, sha256 })) continue;
      const seen = await stat(objects.path(name)).catch(() => undefined);
      if (seen && Date.now() - seen.mtimeMs > limits.uploadExpiresMs) found.push(name);
    }
  }
  return found;
}
