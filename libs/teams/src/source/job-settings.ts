import type { JobSettings } from '#contracts';
import { pinnedSubmodules } from '#git';
import type { TeamParts } from '../parts.js';
import type { TaskRow } from '../rows.js';
import { repositorySql } from '../sql/teams.js';
import { storeOf } from '../task/task-store.js';
import { secretPlace } from './add-repository.js';
import { lfsOf } from './lfs/task-lfs.js';
import { repositoryOf } from './repository-of.js';

/**
 * What the sandbox of a Task's job is given, its secrets opened: for the holder of the lease alone. As the repository is now, so
 * that a mended setup command is the next Dispatch's.
 */
export async function readJobSettings(parts: TeamParts, task: TaskRow): Promise<JobSettings> {
  const { source } = task;
  if (source.kind !== 'repository') return { repository: null };
  const fetched = await fetchedOf(parts, task);
  const row = await repositoryOf(parts.database, source);
  if (!row) {
    const nothing = { setup: null, verify: null, egress: [], environment: {}, secrets: {}, ...fetched };
    return { repository: { name: source.name, project: 'default', origin: source.url, ...nothing } };
  }
  const sealed = await parts.database.all(repositorySql.secrets, { id: row.id });
  const secrets = sealed.map(({ name, sealed: bytes }) => [name, parts.vault.open(secretPlace(row.id, name), bytes)]);
  return {
    repository: {
      name: row.name,
      project: row.project,
      origin: row.url,
      setup: row.settings.setup ?? null,
      verify: row.settings.verify ?? null,
      egress: [...row.settings.egress],
      environment: { ...row.settings.environment },
      secrets: Object.fromEntries(secrets),
      ...fetched,
    },
  };
}

type Fetched = Pick<NonNullable<JobSettings['repository']>, 'submodules' | 'lfs'>;

/** What the Task has of what its base only points to. */
async function fetchedOf(parts: TeamParts, task: TaskRow): Promise<Fetched> {
  const submodules = await pinnedSubmodules(await storeOf(parts, task.id));
  const lfs = await lfsOf(parts, task.id);
  return { ...(submodules !== undefined && { submodules }), ...(lfs.length > 0 && { lfs: [...lfs] }) };
}
