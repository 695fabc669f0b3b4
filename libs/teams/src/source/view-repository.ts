import type { RepositoryView } from '#contracts';
import type { Queries } from '#store';
import type { RepositoryRow } from '../rows.js';
import { repositorySql } from '../sql/teams.js';
import { fingerprintsOf } from './host-keys.js';

/** What anyone may see of repositories: names of secrets, never one of them. */
export async function viewRepositories(
  queries: Queries,
  rows: readonly RepositoryRow[],
): Promise<readonly RepositoryView[]> {
  const names = await queries.all(repositorySql.secretNames, { ids: rows.map(({ id }) => id) });
  return rows.map((row) => ({
    name: row.name,
    project: row.project,
    url: row.url,
    default_branch: row.default_branch,
    credential: row.credential_kind,
    setup: row.settings.setup ?? null,
    verify: row.settings.verify ?? null,
    egress: [...row.settings.egress],
    environment: { ...row.settings.environment },
    secrets: names.flatMap(({ repository, name }) => (repository === row.id ? [name] : [])),
    fetch: { lfs: row.settings.fetch?.lfs ?? false, submodules: row.settings.fetch?.submodules ?? false },
    host_keys: [...fingerprintsOf(row.host_keys)],
    added_by: row.added_by,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  }));
}
