import type { RepositorySettings } from './job-settings.js';
import type { JobWalls } from './run-setup.js';

/**
 * Names what a setup command runs in, for the key of the template that it fills (H32): the rung, and all else that may change
 * what it leaves. It is hashed before it is written anywhere: there are secrets in it.
 */
export function setupSandbox(settings: NonNullable<RepositorySettings>, { rung, hosts }: JobWalls): string {
  if (settings.setup === null) return rung;
  const { environment, secrets } = settings;
  return JSON.stringify([rung, [...new Set(hosts)].sort(), sorted(environment), sorted(secrets)]);
}

const sorted = (record: Readonly<Record<string, string>>) =>
  Object.entries(record).sort(([one], [other]) => (one < other ? -1 : 1));
