import { FarmError, RepositoryCredential } from '#contracts';
import type { Remote, RemoteCall } from '#git';
import type { TeamParts } from '../parts.js';
import type { RepositoryRow } from '../rows.js';
import { repositorySql } from '../sql/teams.js';
import { credentialPlace } from './add-repository.js';
import { judgedAddresses } from './address-rules.js';
import { judgedFolder } from './local-folder.js';
import { readSourceUrl } from './source-url.js';

/** What opens an origin, and under which name its mirror is kept. */
export interface OpenedRemote {
  readonly remote: Remote;
  /** Of project, credential and URL: who has another credential gets another mirror (H30). */
  readonly mirror: string;
}

/** A registered repository, or a URL that nobody registered. */
export type Origin = { readonly row: RepositoryRow } | { readonly url: string };

/**
 * Judges the URL again and opens the credential: nothing is believed because it held yesterday.
 *
 * @throws FarmError source_refused, source_unavailable, misconfigured (the sealing key)
 */
export async function openRemote(parts: TeamParts, origin: Origin): Promise<OpenedRemote> {
  const row = 'row' in origin ? origin.row : undefined;
  const url = readSourceUrl('row' in origin ? origin.row.url : origin.url);
  const credential = row === undefined ? ({ kind: 'none' } as const) : openCredential(parts, row);
  const mirror = mirrorName(parts, row?.project ?? 'default', credential, url.url);
  if (url.protocol === 'file') {
    if (row === undefined)
      throw new FarmError(
        'source_refused',
        'A folder of the controller is a source only when an admin has registered it.',
        {
          hint: 'longshore repo add NAME /folder, at the command line of the controller.',
        },
      );
    return { mirror, remote: { protocol: 'file', path: await judgedFolder(url.url, parts.sources) } };
  }
  const { caFile } = parts.sources;
  return {
    mirror,
    remote: {
      ...url,
      protocol: url.protocol,
      addresses: await judgedAddresses(url, parts.sources),
      credential: credential.kind === 'ssh_key' ? { kind: 'ssh_key', key: credential.private_key } : credential,
      ...(row !== undefined && row.host_keys !== null && { hostKeys: row.host_keys }),
      ...(caFile !== undefined && { caFile }),
    },
  };
}

/** Of the row as it is now; undefined when its credential can not be opened any more, and then its mirror is found by age. */
export function mirrorOf(parts: TeamParts, row: RepositoryRow): string | undefined {
  try {
    return mirrorName(parts, row.project, openCredential(parts, row), row.url);
  } catch {
    return undefined;
  }
}

/** Keeps the ssh keys of a first contact: from then on the host must show one of them. */
export async function keepHostKeys(parts: TeamParts, { row }: { row: RepositoryRow }, call: RemoteCall): Promise<void> {
  const learned = await call.learnedHostKeys();
  if (learned === undefined || row.host_keys !== null) return;
  await parts.database.run(repositorySql.learnHostKeys, { id: row.id, url: row.url, host_keys: learned });
}

function mirrorName(parts: TeamParts, project: string, credential: RepositoryCredential, url: string): string {
  return parts.vault.digest(JSON.stringify([project, credential, url]));
}

function openCredential(parts: TeamParts, row: RepositoryRow): RepositoryCredential {
  if (row.credential === null) return { kind: 'none' };
  const text = parts.vault.open(credentialPlace(row.id), row.credential);
  return RepositoryCredential.parse(JSON.parse(text));
}
