import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { FarmError } from '#contracts';
import {
  bundleOfMirror,
  commitOf,
  fetchMirror,
  importBundle,
  inspectSource,
  listRemote,
  type ObjectStore,
  type SourceReport,
  withRemote,
} from '#git';
import type { TeamParts } from '../parts.js';
import type { RepositorySource } from '../rows.js';
import { inMirror, scratchOf } from './mirrors.js';
import { keepHostKeys, type Origin, openRemote } from './open-remote.js';
import { repositoryOf } from './repository-of.js';

export interface TakenSource {
  readonly base: string;
  /** What was asked for, resolved. */
  readonly ref: string;
  readonly report: SourceReport;
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
  store: ObjectStore,
  source: RepositorySource,
  signal: AbortSignal,
): Promise<TakenSource | undefined> {
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
      const base = await commitOf(dir, ref);
      await giveTo(store, { dir, scratch, commit: base, limits });
      return { base, ref, report: await inspectSource(store.dir, base, limits) };
    }),
  );
}

function tooSlow(error: unknown): never {
  if (!(error instanceof FarmError) || error.code !== 'timeout') throw error;
  throw new FarmError(
    'source_unavailable',
    'The origin did not send the repository in the time that a fetch may take.',
    {
      hint: 'Resume the Task to try again, or start from a checkout of your own.',
      cause: error,
    },
  );
}

/** As a bundle of the whole history, judged like one that a person sends. */
async function giveTo(
  store: ObjectStore,
  from: { dir: string; scratch: string; commit: string; limits: NonNullable<TeamParts['gitLimits']> },
): Promise<void> {
  const path = join(from.scratch, `${randomUUID()}.bundle`);
  try {
    await bundleOfMirror(from.dir, { commit: from.commit, path, limits: from.limits });
    await importBundle(store, path, { limits: from.limits });
  } finally {
    await rm(path, { force: true });
  }
}

async function originOf(parts: TeamParts, source: RepositorySource): Promise<Origin> {
  const row = await repositoryOf(parts.database, source);
  if (row) return { row };
  if (source.repository === null) return { url: source.url };
  throw new FarmError('source_unavailable', 'The repository that this Task starts from is not registered any more.', {
    hint: 'Register it again and start the Task anew.',
  });
}
