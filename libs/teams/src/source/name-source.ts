import { FarmError, type RepositoryWanted } from '#contracts';
import type { Transaction } from '#store';
import type { RepositoryRow, RepositorySource } from '../rows.js';
import { repositorySql } from '../sql/teams.js';
import { unknownRepository } from './check-repository.js';
import { namesOf } from './repository-of.js';
import { readSourceUrl } from './source-url.js';

export interface NamedSource {
  readonly source: RepositorySource;
  /** Held so that it is not removed before the Task's row stands. */
  readonly row: RepositoryRow | undefined;
}

/**
 * What a Task names: a repository by name, or a URL, which means the registered one of that URL where there is one.
 *
 * @throws FarmError not_found, conflict (several of one URL), source_refused
 */
export async function nameSource(tx: Transaction, wanted: RepositoryWanted): Promise<NamedSource> {
  const ref = wanted.ref ?? null;
  if (wanted.name !== undefined) {
    const row = await tx.first(repositorySql.share, { name: wanted.name });
    if (!row) throw unknownRepository();
    return registered(row, ref);
  }
  const url = readSourceUrl(wanted.url ?? '');
  const found = await namesOf(tx, url);
  if (found.length > 1) {
    throw new FarmError('conflict', 'Several repositories are registered with this URL.', {
      hint: `Name one of them: ${found.slice(0, 10).join(', ')}.`,
    });
  }
  const [known] = found;
  const row = known === undefined ? undefined : await tx.first(repositorySql.share, { name: known });
  if (row) return registered(row, ref);
  if (url.protocol === 'https')
    return { row: undefined, source: { kind: 'repository', repository: null, name: null, url: url.url, ref } };
  throw url.protocol === 'ssh'
    ? new FarmError(
        'source_refused',
        'No repository is registered with this ssh URL, so there is no key that opens it.',
        {
          hint: 'Register it: longshore repo add NAME URL --ssh-key FILE.',
        },
      )
    : new FarmError('source_refused', 'A folder of the controller is a source only when an admin has registered it.', {
        hint: 'Your own checkout goes along with --source DIR.',
      });
}

function registered(row: RepositoryRow, ref: string | null): NamedSource {
  return { row, source: { kind: 'repository', repository: row.id, name: row.name, url: row.url, ref } };
}
