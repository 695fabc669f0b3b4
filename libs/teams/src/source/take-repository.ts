import { FarmError } from '#contracts';
import { fetchMirror, inspectSource, listRemote, type ObjectStore, type SourceReport, withRemote } from '#git';
import type { TeamParts } from '../parts.js';
import type { RepositorySource } from '../rows.js';
import { findBase } from './find-base.js';
import { giveToStore, tooSlow } from './give-to-store.js';
import { dropLfs, type TakenLfs, takeLfs } from './lfs/task-lfs.js';
import { inMirror, scratchOf } from './mirrors.js';
import { keepHostKeys, type Origin, openRemote } from './open-remote.js';
import { repositoryOf } from './repository-of.js';
import { type FetchedSubmodule, takeSubmodules } from './take-submodules.js';

export interface TakenSource {
  readonly base: string;
  /** What was asked for, resolved. */
  readonly ref: string;
  readonly report: SourceReport;
  /** Fetched too, those within others among them. */
  readonly submodules: readonly FetchedSubmodule[];
  /** What git-lfs keeps and the Task has; absent: it works with the pointers. */
  readonly lfs?: TakenLfs;
}

interface Taking {
  readonly task: string;
  readonly store: ObjectStore;
  readonly source: RepositorySource;
}

/**
 * Brings the commit that a Task starts from out of its origin into the Task's own store, which owns every object of it (H19). The
 * origin is asked each time, with the credential as it is now: a mirror alone starts nothing (H30).
 *
 * @returns undefined while another Task fetches from the same origin
 * @throws FarmError source_refused, source_unavailable, timeout, disk_full, too_large, misconfigured
 */
export async function takeRepository(
  parts: TeamParts,
  taking: Taking,
  signal: AbortSignal,
): Promise<TakenSource | undefined> {
  const { store, source } = taking;
  const taken = await takeBase(parts, taking, signal);
  if (!taken) return undefined;
  const submodules = await takeSubmodules(parts, store, { source, base: taken.base, signal });
  return submodules && { ...taken, submodules };
}

async function takeBase(
  parts: TeamParts,
  { task, store, source }: Taking,
  signal: AbortSignal,
): Promise<Omit<TakenSource, 'submodules'> | undefined> {
  const origin = await originOf(parts, source);
  const { remote, mirror } = await openRemote(parts, origin);
  const limits = parts.gitLimits ?? {};
  const scratch = await scratchOf(parts);
  return inMirror(parts, mirror, (dir) =>
    withRemote(remote, scratch, async (call) => {
      const head = await listRemote(call, [], { limits, signal });
      if ('row' in origin) await keepHostKeys(parts, origin, call);
      await fetchMirror(dir, call, { limits, signal }).catch(tooSlow);
      const ref = source.ref ?? ('row' in origin ? origin.row.default_branch : null) ?? head.defaultBranch;
      if (ref === undefined) {
        throw new FarmError('source_unavailable', 'The origin is empty, or its HEAD names no branch.', {
          hint: 'Push a first commit, or name a branch: --ref BRANCH.',
        });
      }
      const base = await findBase(dir, ref, source.ref === null ? 'repository' : 'task');
      await giveToStore(store, { dir, scratch, commit: base, limits });
      const report = await inspectSource(store.dir, base, limits);
      const wantsLfs = 'row' in origin && origin.row.settings.fetch?.lfs === true;
      if (!wantsLfs) await dropLfs(parts, task);
      const lfs = wantsLfs ? await takeLfs(parts, { task, store, base, remote, mirrorDir: dir, signal }) : undefined;
      return { base, ref, report, ...(lfs && { lfs }) };
    }),
  );
}

async function originOf(parts: TeamParts, source: RepositorySource): Promise<Origin> {
  const row = await repositoryOf(parts.database, source);
  if (row) return { row };
  if (source.repository === null) return { url: source.url };
  throw new FarmError('source_unavailable', 'The repository that this Task starts from is not registered any more.', {
    hint: 'Register it again and start the Task anew.',
  });
}
