import { FarmError, type ForgeKind, type PullRequest } from '#contracts';
import { listRemote, withRemote } from '#git';
import type { TeamParts } from '../parts.js';
import { judgedAddresses } from '../source/address-rules.js';
import { scratchOf } from '../source/mirrors.js';
import { readSourceUrl } from '../source/source-url.js';
import { findForge } from './forge/find-forge.js';
import { type ForgeApi, openForgeApi } from './forge/forge-api.js';
import { type ForgePlace, placeOf } from './forge/forge-place.js';
import type { Origin } from './open-origin.js';

export interface PullRequestWanted {
  readonly branch: string;
  /** Else the repository's default branch, else the origin's. */
  readonly target: string | undefined;
  readonly title: string;
  readonly body: string;
  /** One that was opened for this branch before. */
  readonly known: number | undefined;
  /** Else told from the host. */
  readonly forge: ForgeKind | undefined;
  readonly signal: AbortSignal;
}

/**
 * Opens a pull request for a branch, or answers the one there is: it is looked for before one is made, and again when the forge
 * says that there is one, or nobody knows whether it was made (A12.22).
 *
 * @throws source_refused, source_unavailable, conflict
 */
export async function openPullRequest(
  parts: TeamParts,
  origin: Origin,
  wanted: PullRequestWanted,
): Promise<PullRequest> {
  const place = placeOf(readSourceUrl(origin.row.url));
  if (origin.token === undefined) {
    throw new FarmError('source_refused', 'A pull request needs a token, and this repository has none.', {
      hint: 'Give it one that may open pull requests: longshore repo add --replace --token-file FILE.',
    });
  }
  const api = await openApi(parts, origin.token, place, wanted.signal);
  try {
    const forge = await findForge(api, place, wanted.forge);
    const target = wanted.target ?? origin.row.default_branch ?? (await defaultBranchOf(parts, origin, wanted.signal));
    if (wanted.known !== undefined) {
      const known = await forge.read(wanted.known);
      if (known) return { ...known, created: false };
    }
    const there = await forge.find(wanted.branch);
    if (there) return { ...there, created: false };
    return await create(forge, { ...wanted, target });
  } finally {
    await api.close();
  }
}

async function create(
  forge: Awaited<ReturnType<typeof findForge>>,
  wanted: PullRequestWanted & { readonly target: string },
): Promise<PullRequest> {
  try {
    return { ...(await forge.create(wanted)), created: true };
  } catch (error) {
    if (!(error instanceof FarmError)) throw error;
    const there = await forge.find(wanted.branch).catch(() => undefined);
    if (there) return { ...there, created: false };
    throw error;
  }
}

async function openApi(
  parts: TeamParts,
  token: string,
  { apiHost: host, apiPort: port }: ForgePlace,
  signal: AbortSignal,
): Promise<ForgeApi> {
  const addresses = await judgedAddresses({ host, port }, parts.sources);
  const { caFile } = parts.sources;
  return openForgeApi({ host, port, addresses, token, signal, ...(caFile !== undefined && { caFile }) });
}

async function defaultBranchOf(parts: TeamParts, { remote }: Origin, signal: AbortSignal): Promise<string> {
  const head = await withRemote(remote, await scratchOf(parts), (call) => listRemote(call, [], { signal }));
  if (head.defaultBranch !== undefined) return head.defaultBranch;
  throw new FarmError('source_unavailable', 'The origin does not say which branch is its default one.', {
    hint: 'Name the branch that the pull request goes to: --target BRANCH.',
  });
}
