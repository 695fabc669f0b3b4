import type { JobSettings } from '#contracts';
import { pinnedSubmodules } from '#git';
import type { TeamParts } from '../parts.js';
import type { TaskRow } from '../rows.js';
import { repositorySql } from '../sql.js';
import { storeOf } from '../task/task-store.js';
import { secretPlace } from './add-repository.js';
import { repositoryOf } from './repository-of.js';

/**
 * What the sandbox of a Task's job is given, its secrets opened: for the holder of the lease alone. As the repository is now, so
 * that a mended setup command is the next Dispatch's.
 */
export async function readJobSettings(parts: TeamParts, task: TaskRow): Promise<JobSettings> {
  const { source } = task;
  if (source.kind !== 'repository') return { repository: null };
  const pinned = await pinnedSubmodules(await storeOf(parts, task.id));
  const submodules = pinned === undefined ? {} : { submodules: pinned };
  const row = await repositoryOf(parts.database, source);
  if (!row) {
    const nothing = { setup: null, verify: null, egress: [], environment: {}, secrets: {}, ...submodules };
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
      ...submodules,
    },
  };
}
