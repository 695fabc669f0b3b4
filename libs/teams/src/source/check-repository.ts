import { FarmError, limits, type OutputOf, type repoCheck } from '#contracts';
import { glanceAt, listRemote, type SourceReport, withRemote } from '#git';
import type { Transaction } from '#store';
import type { TeamParts } from '../parts.js';
import type { RepositoryRow, RepositorySettings } from '../rows.js';
import { repositorySql } from '../sql/teams.js';
import { fingerprintsOf } from './host-keys.js';
import { scratchOf } from './mirrors.js';
import { keepHostKeys, openRemote } from './open-remote.js';

type Checked = OutputOf<typeof repoCheck>;

interface Found {
  readonly branch: string | undefined;
  readonly commit: string | undefined;
  readonly report: SourceReport | undefined;
}

/** What the origin said, outside any transaction. */
export interface AskedOrigin {
  readonly row: RepositoryRow;
  readonly found?: Found;
  readonly problem?: FarmError;
}

/** Asks the origin, for half a minute at most. @throws FarmError not_found */
export async function askOrigin(parts: TeamParts, name: string, signal: AbortSignal): Promise<AskedOrigin> {
  const row = await parts.database.first(repositorySql.find, { name });
  if (!row) throw unknownRepository();
  try {
    return { row, found: await ask(parts, row, signal) };
  } catch (error) {
    if (error instanceof FarmError && error.code !== 'internal' && !signal.aborted) return { row, problem: error };
    throw error;
  }
}

async function ask(parts: TeamParts, row: RepositoryRow, signal: AbortSignal): Promise<Found> {
  const { remote } = await openRemote(parts, { row });
  const scratch = await scratchOf(parts);
  const most = { ...parts.gitLimits, gitSeconds: limits.checkSeconds };
  return withRemote(remote, scratch, async (call) => {
    const wanted = row.default_branch === null ? [] : [row.default_branch];
    const head = await listRemote(call, wanted, { limits: most, signal });
    await keepHostKeys(parts, { row }, call);
    const branch = row.default_branch ?? head.defaultBranch;
    const commit = branch === undefined ? undefined : (head.commits.get(branch) ?? commitOfHead(head, branch));
    const report =
      branch === undefined || commit === undefined
        ? undefined
        : await glanceAt(call, { branch, commit, scratch }, { limits: most, seconds: limits.checkSeconds, signal });
    return { branch, commit, report };
  });
}

function commitOfHead(head: Awaited<ReturnType<typeof listRemote>>, branch: string): string | undefined {
  return branch === head.defaultBranch ? head.commits.get('HEAD') : undefined;
}

/** The answer, with the host keys as the row has them now. */
export async function tellCheck(tx: Transaction, { row, found, problem }: AskedOrigin): Promise<Checked> {
  const now = await tx.first(repositorySql.find, { name: row.name });
  if (!now) throw unknownRepository();
  const missing =
    found && found.commit === undefined
      ? new FarmError('source_unavailable', 'The origin has no commit on the default branch.', {
          hint: 'Push a first commit, or set another branch: longshore repo add --replace --default-branch BRANCH.',
        })
      : undefined;
  const wrong = problem ?? missing;
  const report = found?.report;
  return {
    name: row.name,
    url: row.url,
    usable: wrong === undefined,
    branch: found?.branch ?? null,
    commit: found?.commit ?? null,
    lfs: report ? { ...report.lfs, paths: [...report.lfs.paths] } : null,
    submodules: report ? report.submodules.map((each) => ({ ...each, url: each.url ?? null })) : null,
    host_keys: [...fingerprintsOf(now.host_keys)],
    notes: notesOf(now, row, report),
    problem: wrong ? { code: wrong.code, detail: wrong.detail, hint: wrong.hint ?? null } : null,
  };
}

function notesOf(now: RepositoryRow, before: RepositoryRow, report: SourceReport | undefined): string[] {
  const notes: string[] = [];
  if (before.host_keys === null && now.host_keys !== null)
    notes.push(
      'The ssh host was met for the first time; from now on it must show the same key. Compare its fingerprint.',
    );
  if (report) notes.push(...pointedNotes(report, now.settings.fetch ?? {}));
  return notes;
}

/** What the commit only points to, and what workspaces hold of it, in sentences. */
export function pointedNotes(
  { lfs, submodules }: SourceReport,
  fetched: NonNullable<RepositorySettings['fetch']>,
): readonly string[] {
  const notes: string[] = [];
  if (lfs.files > 0)
    notes.push(
      `${lfs.files} ${lfs.files === 1 ? 'file is' : 'files are'} kept by git-lfs: workspaces hold the ${fetched.lfs === true ? 'contents' : 'pointers, and nothing fetches them (longshore repo add --replace --lfs changes that)'}.`,
    );
  if (submodules.length > 0 && fetched.submodules === true)
    notes.push(
      `${submodules.length} ${submodules.length === 1 ? 'submodule is' : 'submodules are'} checked out in workspaces. What is changed in one comes back as files in place of its link.`,
    );
  else if (submodules.length > 0)
    notes.push(
      `${submodules.length} ${submodules.length === 1 ? 'submodule is' : 'submodules are'} left empty in workspaces: nothing fetches ${submodules.length === 1 ? 'it' : 'them'} (longshore repo add --replace --submodules does).`,
    );
  return notes;
}

export function unknownRepository(): FarmError {
  return new FarmError('not_found', 'There is no repository of this name.', {
    hint: '`longshore repo list` names them.',
  });
}
