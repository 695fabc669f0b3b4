import { FarmError, JobSettings, objectPaths } from '#contracts';
import type { HeldLease } from '../claim/held-lease.js';
import { jsonOf } from '../controller/ask.js';
import { roadTo } from '../controller/farm.js';
import { untilAnswered } from '../controller/until-answered.js';
import type { RunNeeds } from './run-needs.js';

/** What the sandbox of a job is given of the repository that its Task started from; null where there is none. */
export type RepositorySettings = JobSettings['repository'];

/** Fetched under the lease: secrets ride in no payload. @throws FarmError what the farm decided · the abort's reason */
export function fetchJobSettings(
  { farm }: Pick<RunNeeds, 'farm'>,
  lease: HeldLease,
  signal: AbortSignal,
): Promise<RepositorySettings> {
  const road = roadTo(objectPaths.settings, { job: lease.job });
  return untilAnswered(
    async () => {
      const settings = JobSettings.safeParse(await jsonOf(await farm.get(road, { jobToken: lease.token, signal })));
      if (settings.success) return settings.data.repository;
      throw new FarmError('invalid_output', 'The settings of the job have another shape than this worker knows.');
    },
    { signal },
  );
}
