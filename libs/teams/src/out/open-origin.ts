import { FarmError, RepositoryCredential } from '#contracts';
import type { Remote } from '#git';
import type { TeamParts } from '../parts.js';
import type { RepositoryRow, TaskRow } from '../rows.js';
import { credentialPlace } from '../source/add-repository.js';
import { openRemote } from '../source/open-remote.js';
import { repositorySql } from '../sql/teams.js';

/** The registered repository that a Task started from, judged and opened anew. */
export interface Origin {
  readonly row: RepositoryRow;
  readonly remote: Remote;
  /** What opens it for git also speaks for it at the forge's API; an ssh key does not. */
  readonly token: string | undefined;
}

/** Whose origin a Task may be pushed to. @throws source_refused */
export async function repositoryOf(parts: TeamParts, { source }: TaskRow): Promise<RepositoryRow> {
  const id = source.kind === 'repository' ? source.repository : null;
  const row = id === null ? undefined : await parts.database.first(repositorySql.read, { id });
  if (row) return row;
  throw new FarmError('source_refused', 'This Task did not start from a registered repository, so it has no origin.', {
    hint: '`longshore task checkout` brings its branch into your own checkout, `longshore task patch` as a file.',
  });
}

/** @throws source_refused, source_unavailable, misconfigured (the sealing key) */
export async function openOrigin(parts: TeamParts, row: RepositoryRow): Promise<Origin> {
  const { remote } = await openRemote(parts, { row });
  return { row, remote, token: tokenOf(parts, row) };
}

function tokenOf(parts: TeamParts, row: RepositoryRow): string | undefined {
  if (row.credential_kind !== 'token' || row.credential === null) return undefined;
  const text = parts.vault.open(credentialPlace(row.id), row.credential);
  const read = RepositoryCredential.parse(JSON.parse(text));
  return read.kind === 'token' ? read.token : undefined;
}
