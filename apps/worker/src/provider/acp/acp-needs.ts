import { isAbsolute } from 'node:path';
import type { AvailabilityWish, EnclosureNeeds, ProviderKey } from '../port.js';
import { foldersOfInstallation } from '../program-files.js';
import { relayFiles } from './door-relay.js';

/**
 * An ACP agent inside a sandbox: its program, the files that its arguments name, the relay of the member door, and the folder and
 * hosts that its account names. The proxy holds its key where the account says how it is sent, and to which base URL; else the key
 * is in the agent's environment, and visible to it (H35).
 */
export async function acpNeeds({ program, account, ...wish }: AvailabilityWish): Promise<EnclosureNeeds> {
  const words = [program, ...(wish.arguments ?? [])];
  const files = words.filter((word): word is string => word !== undefined && isAbsolute(word));
  const folders = await Promise.all(files.map(foldersOfInstallation));
  const keys = keysOf(account);
  const { agent, upstream } = account ?? {};
  return {
    readable: [...new Set([...folders.flat(), ...relayFiles()])],
    writable: agent?.folder === undefined ? [] : [agent.folder],
    hosts: [...(agent?.hosts ?? []), ...(upstream === undefined || keys.length > 0 ? [] : [new URL(upstream).host])],
    keys,
  };
}

function keysOf(account: AvailabilityWish['account']): readonly ProviderKey[] {
  const { agent, upstream, secrets = {} } = account ?? {};
  if (agent?.keyHeader === undefined || upstream === undefined) return [];
  const { name: header, prefix } = agent.keyHeader;
  return Object.keys(secrets).map((secret) => ({
    secret,
    header,
    upstream,
    ...(prefix === undefined ? {} : { prefix }),
  }));
}
