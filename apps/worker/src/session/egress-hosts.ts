import type { DispatchPayload } from '#contracts';
import type { RepositorySettings } from './job-settings.js';

/**
 * Hosts that a job may reach beside those of its provider. The workflow denies the network or opens it; what the repository lists
 * narrows that, and stands where the workflow says nothing.
 */
export function egressHosts(
  { sandbox }: Pick<DispatchPayload, 'sandbox'>,
  settings: RepositorySettings,
): readonly string[] {
  if (sandbox?.network === 'deny') return [];
  const listed = settings?.egress ?? [];
  return sandbox?.network === 'allow' && listed.length === 0 ? ['*'] : listed;
}
