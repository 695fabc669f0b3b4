import type { Queries } from '#store';
import type { RepositoryRow, RepositorySource } from '../rows.js';
import { repositorySql } from '../sql/teams.js';
import { readSourceUrl, type SourceUrl, sameSource } from './source-url.js';

/**
 * The registered repository behind a Task's source, as it is now. A URL that nobody had registered when the Task started may be
 * registered since, with the credential that was missing.
 */
export async function repositoryOf(queries: Queries, source: RepositorySource): Promise<RepositoryRow | undefined> {
  if (source.repository !== null) return queries.first(repositorySql.read, { id: source.repository });
  const [name, another] = await namesOf(queries, readSourceUrl(source.url));
  return name === undefined || another !== undefined ? undefined : queries.first(repositorySql.find, { name });
}

/** Names of the repositories that are registered with this URL. */
export async function namesOf(queries: Queries, url: SourceUrl): Promise<readonly string[]> {
  const all = await queries.all(repositorySql.urls);
  return all.flatMap((each) => (sameSource(readSourceUrl(each.url), url) ? [each.name] : []));
}
