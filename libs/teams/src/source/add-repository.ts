import {
  FarmError,
  type InputOf,
  limits,
  newId,
  type RepositoryCredential,
  type RepositoryView,
  type repoAdd,
} from '#contracts';
import type { Transaction } from '#store';
import type { Actor } from '../api.js';
import type { TeamParts } from '../parts.js';
import type { RepositoryRow, RepositorySettings } from '../rows.js';
import { repositorySql } from '../sql/teams.js';
import { checkCredential } from './credential.js';
import { hostKeysOf } from './host-keys.js';
import { needsHttps } from './lfs/lfs-endpoint.js';
import { judgedFolder } from './local-folder.js';
import { readSourceUrl, type SourceUrl, sameOrigin } from './source-url.js';
import { viewRepositories } from './view-repository.js';

type Wanted = InputOf<typeof repoAdd>;

/** Who registers: a folder of the controller's machine is only for an admin at the command line (H30). */
export interface Registrar extends Actor {
  readonly mayNameFolders: boolean;
}

/**
 * Disk, outside any transaction: whether the URL is one that a Task may start from. Names are not resolved here, since what they
 * answer now says nothing of when a Task starts.
 *
 * @throws FarmError source_refused, source_unavailable
 */
export async function readWantedUrl(parts: TeamParts, registrar: Registrar, wanted: Wanted): Promise<SourceUrl> {
  const url = readSourceUrl(wanted.url);
  if (url.protocol !== 'file') return url;
  if (!registrar.mayNameFolders)
    throw new FarmError(
      'source_refused',
      'A folder of the controller is a source only for an admin at the command line.',
      { hint: 'A checkout of your own goes along with longshore task start --source DIR.' },
    );
  return { protocol: 'file', url: await judgedFolder(url.url, parts.sources) };
}

/** Registers, or changes what is given (`replace`). @throws FarmError conflict, not_found, source_refused */
export async function addRepository(
  parts: TeamParts,
  tx: Transaction,
  registrar: Registrar,
  wanted: Wanted,
  url: SourceUrl,
): Promise<RepositoryView> {
  const known = wanted.replace ? await tx.first(repositorySql.lock, { name: wanted.name }) : undefined;
  if (wanted.replace && known === undefined) {
    throw new FarmError('not_found', 'There is no repository of this name to replace.', {
      hint: '`longshore repo list` names them; leave --replace out to register a new one.',
    });
  }
  if (known === undefined) await checkRoom(tx);
  const id = known?.id ?? newId();
  const settings = settingsOf(wanted, known?.settings);
  if (settings.fetch?.lfs === true && url.protocol !== 'https') throw needsHttps();
  const row = await tx.first(known === undefined ? repositorySql.add : repositorySql.replace, {
    id,
    name: wanted.name,
    project: wanted.project ?? known?.project ?? 'default',
    url: url.url,
    default_branch: wanted.default_branch === undefined ? (known?.default_branch ?? null) : wanted.default_branch,
    settings: JSON.stringify(settings),
    ...sealedCredential(parts, id, wanted, url, known),
    host_keys: hostKeysFor(wanted, url, known),
    added_by: registrar.principal,
  });
  if (!row) {
    throw new FarmError('conflict', 'A repository of this name is registered already.', {
      hint: 'Take another name, or change that one with --replace.',
    });
  }
  if (wanted.secrets !== undefined) await keepSecrets(parts, tx, id, wanted.secrets);
  const secrets = new Set((await tx.all(repositorySql.secrets, { id })).map(({ name }) => name));
  if (Object.keys(row.settings.environment).some((name) => secrets.has(name)))
    throw new FarmError('conflict', 'One name stands in the environment and among the secrets.');
  const [view] = await viewRepositories(tx, [row]);
  if (!view) throw new Error('a repository without its view');
  return view;
}

async function checkRoom(tx: Transaction): Promise<void> {
  const held = await tx.first(repositorySql.count);
  if ((held?.count ?? 0) >= limits.repositories)
    throw new FarmError('conflict', `The farm holds ${limits.repositories} repositories, its limit.`);
}

function settingsOf(wanted: Wanted, known: RepositorySettings | undefined): RepositorySettings {
  return {
    setup: wanted.setup === undefined ? known?.setup : (wanted.setup ?? undefined),
    verify: wanted.verify === undefined ? known?.verify : (wanted.verify ?? undefined),
    fetch: { ...known?.fetch, ...wanted.fetch },
    egress: wanted.egress ?? known?.egress ?? [],
    environment: wanted.environment ?? known?.environment ?? {},
  };
}

function sealedCredential(
  parts: TeamParts,
  id: string,
  wanted: Wanted,
  url: SourceUrl,
  known: RepositoryRow | undefined,
): Pick<RepositoryRow, 'credential_kind' | 'credential'> {
  const { credential } = wanted;
  if (credential === undefined && known !== undefined && known.credential !== null) {
    // Else who may change a URL could have the credential shown to a host of their own.
    if (!sameOrigin(url, readSourceUrl(known.url))) {
      throw new FarmError('source_refused', 'The credential was given for another host than the new URL names.', {
        hint: 'Give the credential for the new host with the URL, or say --no-credential.',
      });
    }
    return { credential_kind: known.credential_kind, credential: known.credential };
  }
  const given: RepositoryCredential = credential ?? { kind: 'none' };
  checkCredential(given, url);
  if (given.kind === 'none') return { credential_kind: 'none', credential: null };
  return { credential_kind: given.kind, credential: parts.vault.seal(credentialPlace(id), JSON.stringify(given)) };
}

function hostKeysFor(wanted: Wanted, url: SourceUrl, known: RepositoryRow | undefined): string | null {
  if (wanted.host_keys === undefined)
    return known !== undefined && sameOrigin(url, readSourceUrl(known.url)) ? known.host_keys : null;
  if (url.protocol !== 'ssh') throw new FarmError('source_refused', 'Host keys are for ssh URLs only.');
  return hostKeysOf(wanted.host_keys, url.host, url.port);
}

async function keepSecrets(
  parts: TeamParts,
  tx: Transaction,
  id: string,
  secrets: Readonly<Record<string, string>>,
): Promise<void> {
  await tx.run(repositorySql.dropSecrets, { id });
  for (const [name, value] of Object.entries(secrets)) {
    await tx.run(repositorySql.addSecret, { id, name, sealed: parts.vault.seal(secretPlace(id, name), value) });
  }
}

/** Where a sealed credential belongs; moved to another row it opens there for nobody. */
export const credentialPlace = (id: string): string => `repository/${id}/credential`;
export const secretPlace = (id: string, name: string): string => `repository/${id}/secret/${name}`;
