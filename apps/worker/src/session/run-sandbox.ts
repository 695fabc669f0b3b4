import { homedir } from 'node:os';
import { join } from 'node:path';
import { narrowHosts, openSandbox, type Sandbox, type SandboxRung } from '../process/sandbox/index.js';
import type { EnclosureNeeds, SessionAccount } from '../provider/port.js';
import type { DispatchFolder } from '../workspace/owner-marker.js';
import type { RunNeeds } from './run-needs.js';

/** What a run wants of its sandbox. */
export interface SandboxWish {
  readonly rung: SandboxRung;
  readonly readOnlyWorkspace: boolean;
  /** Hosts that it may reach, beside those of the provider. */
  readonly hosts: readonly string[];
  /** Of the provider, where one runs. */
  readonly needs?: EnclosureNeeds | undefined;
  readonly account?: SessionAccount | undefined;
  readonly memberDoor: boolean;
}

/** @throws FarmError `misconfigured` */
export function openRunSandbox(
  run: Pick<RunNeeds, 'home' | 'sandboxes' | 'log'>,
  folder: DispatchFolder,
  wish: SandboxWish,
): Promise<Sandbox> {
  const { rung, readOnlyWorkspace, hosts, needs, account, memberDoor } = wish;
  const { settings } = run.sandboxes;
  return openSandbox({
    rung,
    workspace: folder.work,
    readOnlyWorkspace,
    stateFolder: folder.state,
    stateWritable: needs?.state ?? [],
    ownFolder: folder.sandbox,
    readable: [...settings.readable, ...(needs?.readable ?? [])],
    writable: needs?.writable ?? [],
    hidden: [run.home.path, join(homedir(), '.longshore'), ...settings.hidden],
    // what the folder's owner runs by looking at it is not an agent's to write (H2)
    sealed: folder.isInPlace ? [join(folder.work, '.git')] : [],
    egress: {
      hosts: [...narrowHosts(hosts, settings.egress), ...(needs?.hosts ?? [])],
      privateHosts: settings.privateHosts,
    },
    keys: keysOf(needs, account),
    memberDoor,
    onRefusedHost: (host) => run.log.info({ host }, 'a host outside of the egress list was asked for'),
  });
}

function keysOf(needs: EnclosureNeeds | undefined, account: SessionAccount | undefined) {
  if (needs === undefined || account === undefined) return [];
  return needs.keys.flatMap(({ secret, header, prefix, upstream }) => {
    const value = account.secrets[secret];
    if (value === undefined) return [];
    return [{ upstream: account.upstream ?? upstream, header, value: `${prefix ?? ''}${value}` }];
  });
}

/** Names of the account's secrets that no proxy can add. */
export function visibleSecrets({ secrets }: SessionAccount, needs: EnclosureNeeds | undefined): readonly string[] {
  const held = new Set(needs?.keys.map(({ secret }) => secret));
  return Object.keys(secrets).filter((name) => !held.has(name));
}

/** Stands where a key would: programs refuse to start without one. */
const standIn = 'held-by-the-sandbox';

/** The account as the provider may see it: keys that the proxy holds are not in it, and its upstream is the proxy (H35). */
export function seenAccount(
  account: SessionAccount,
  needs: EnclosureNeeds | undefined,
  { upstreams }: Sandbox,
): SessionAccount {
  const held = needs?.keys.filter(({ secret }) => account.secrets[secret] !== undefined) ?? [];
  const [first] = held;
  if (first === undefined) return account;
  const upstream = upstreams[account.upstream ?? first.upstream];
  if (upstream === undefined) return account;
  const secrets = { ...account.secrets, ...Object.fromEntries(held.map(({ secret }) => [secret, standIn])) };
  return { ...account, secrets, upstream };
}
