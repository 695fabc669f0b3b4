import { randomUUID } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { FarmError } from '#contracts';
import { makePrivateFolder } from '../../private-file.js';
import { childMain, packageOf } from '../child-main.js';
import type { TreeCommand } from '../guarded-tree.js';
import {
  type Bubblewrap,
  bubblewrapArguments,
  coverMounts,
  filterDescriptor,
  findBubblewrap,
  type Mount,
  nodeMounts,
  readMounts,
  systemMounts,
} from './bubblewrap.js';
import { EgressProxy, requireUpstreams } from './egress-proxy.js';
import { refusePlanted, refuseReach } from './planted-places.js';
import { egressPort, memberDoorPort, type Sandbox, type SandboxRules } from './rules.js';
import { makeSandboxFolder, openSocketPlace, type SandboxFolder, socketNames } from './sandbox-folder.js';
import { limitTree, type TreeLimits, wholeLimits } from './tree-limits.js';

/**
 * Makes ready what one session runs in; its enclosure may be used for several commands, one tree at a time.
 *
 * @throws FarmError `misconfigured` where this machine cannot give the rung: never a weaker one instead
 */
export async function openSandbox(rules: SandboxRules): Promise<Sandbox> {
  requireUpstreams(rules.keys);
  return rules.rung === 'bwrap' ? openWalls(rules) : openBare(rules);
}

/** No walls: limits at the rung `process`, and our proxy, which a program may use or not. */
async function openBare(rules: SandboxRules): Promise<Sandbox> {
  const { rung, egress, keys, onRefusedHost } = rules;
  const isLimited = rung === 'process';
  const limited = isLimited ? await limitTree(nameOfTree(), wholeLimits(rules.limits), false) : unlimited;
  const proxy =
    isLimited || keys.length > 0 ? await EgressProxy.open({ egress, keys, ...refusals(onRefusedHost) }) : undefined;
  return {
    rung,
    enclosure: (command) => precede([...limited.outside, ...limited.inside], command),
    environment: isLimited && proxy !== undefined ? proxyEnvironment(proxy.url()) : {},
    upstreams: proxy?.upstreams() ?? {},
    close: async () => {
      await proxy?.close();
      await limited.remove();
    },
  };
}

async function openWalls(rules: SandboxRules): Promise<Sandbox> {
  const { ownFolder, egress, keys } = rules;
  const path = process.env.PATH ?? '/usr/bin:/bin';
  const bubblewrap = await findBubblewrap(path);
  if (bubblewrap === undefined) {
    throw new FarmError('misconfigured', 'This machine has no bubblewrap, which the sandbox rung bwrap needs.', {
      hint: 'apt-get install bubblewrap, then longshore doctor.',
    });
  }
  const home = homedir();
  const folder = await makeSandboxFolder(ownFolder);
  const mounts = await mountsOf(rules, folder, path, home);
  const proxy = egress.hosts.length > 0 || keys.length > 0 ? await openProxy(rules) : undefined;
  const limited = await limitTree(nameOfTree(), wholeLimits(rules.limits), true);
  const relays = [
    ...(rules.memberDoor === true ? [`${memberDoorPort}=${socketsInside}/${socketNames.memberDoor}`] : []),
    ...(proxy === undefined ? [] : [`${egressPort}=${socketsInside}/${socketNames.egress}`]),
  ];
  const relay = relayCommand(relays);
  return {
    rung: 'bwrap',
    enclosure: (command) => walled(command, { bubblewrap, mounts, folder, limited, relay }),
    environment: {
      HOME: home,
      TMPDIR: '/tmp',
      ...(proxy === undefined ? {} : proxyEnvironment(proxy.url(egressPort))),
    },
    upstreams: proxy?.upstreams(egressPort) ?? {},
    close: async () => {
      await proxy?.close();
      await limited.remove();
    },
  };
}

async function openProxy({ ownFolder, egress, keys, onRefusedHost }: SandboxRules): Promise<EgressProxy> {
  const place = await openSocketPlace(ownFolder, socketNames.egress);
  return EgressProxy.open({ egress, keys, place, ...refusals(onRefusedHost) });
}

const socketsInside = '/run/longshore';

async function mountsOf(
  rules: SandboxRules,
  folder: SandboxFolder,
  path: string,
  home: string,
): Promise<readonly Mount[]> {
  const own: readonly Mount[] = [
    { kind: 'write', at: home, from: folder.home },
    { kind: 'write', at: '/tmp', from: folder.tmp },
    { kind: 'write', at: '/var/tmp', from: folder.tmp },
    { kind: 'read', at: '/etc/hosts', from: folder.hosts },
    { kind: 'read', at: socketsInside, from: folder.sockets },
  ];
  const shown = [
    ...(await systemMounts(path, home)),
    ...own,
    ...(await nodeMounts()),
    ...(await readMounts([...relayFiles(), ...rules.readable])),
    ...(await writeMounts(rules.writable)),
  ];
  const covers = await coverMounts(rules.hidden, shown);
  const { workspace, stateFolder, readOnlyWorkspace } = rules;
  const last: readonly Mount[] = [
    { kind: readOnlyWorkspace === true ? 'read' : 'write', at: workspace, from: await realpath(workspace) },
    ...(await readMounts(rules.sealed ?? [])),
    { kind: 'read', at: stateFolder, from: await realpath(stateFolder) },
    ...(await stateMounts(rules)),
  ];
  const mounts = lastOfEach([...shown, ...covers, ...last]);
  await refuseReach(rules.ownFolder, mounts);
  await refusePlanted(mounts);
  return mounts;
}

async function stateMounts({ stateFolder, stateWritable = [] }: SandboxRules): Promise<readonly Mount[]> {
  const own = stateWritable.map((name) => join(stateFolder, name));
  for (const path of own) await makePrivateFolder(path);
  return writeMounts(own);
}

async function writeMounts(paths: readonly string[]): Promise<readonly Mount[]> {
  return (await readMounts(paths)).map((mount) => (mount.kind === 'read' ? { ...mount, kind: 'write' } : mount));
}

/** One place, one mount: what is named later wins. */
function lastOfEach(mounts: readonly Mount[]): readonly Mount[] {
  return [...new Map(mounts.map((mount) => [mount.at, mount])).values()];
}

function relayFiles(): readonly string[] {
  const main = childMain(import.meta.url, './inside-main.js');
  // beside dist: says that the relay is a module
  return [main, join(packageOf(main), 'package.json')];
}

function relayCommand(relays: readonly string[]): readonly string[] {
  const small = ['--max-old-space-size=32', '--max-semi-space-size=1'];
  return [process.execPath, ...small, childMain(import.meta.url, './inside-main.js'), ...relays, '--'];
}

interface Walls {
  readonly bubblewrap: Bubblewrap;
  readonly mounts: readonly Mount[];
  readonly folder: SandboxFolder;
  readonly limited: TreeLimits;
  readonly relay: readonly string[];
}

function walled(command: TreeCommand, { bubblewrap, mounts, folder, limited, relay }: Walls): TreeCommand {
  return precede(
    [
      ...limited.outside,
      ...withFilter(folder.filter),
      bubblewrap.path,
      ...bubblewrapArguments(bubblewrap, mounts, folder.shared, command.cwd),
      ...limited.inside,
      ...relay,
    ],
    command,
    '/',
  );
}

/** Bubblewrap reads the filter from a descriptor and closes it. */
const withFilter = (path: string): readonly string[] => [
  ...['sh', '-c', `exec ${filterDescriptor}< "$0" && exec "$@"`, path],
];

function precede(words: readonly string[], command: TreeCommand, cwd: string = command.cwd): TreeCommand {
  const [file, ...args] = words;
  if (file === undefined) return command;
  return { ...command, cwd, file, args: [...args, command.file, ...command.args] };
}

function proxyEnvironment(url: string): Readonly<Record<string, string>> {
  const direct = 'localhost,127.0.0.1,::1';
  return {
    HTTP_PROXY: url,
    HTTPS_PROXY: url,
    http_proxy: url,
    https_proxy: url,
    NO_PROXY: direct,
    no_proxy: direct,
    // Node's own fetch looks at them only when told so
    NODE_USE_ENV_PROXY: '1',
  };
}

const unlimited: TreeLimits = { outside: [], inside: [], remove: async () => undefined };
const nameOfTree = (): string => `run-${randomUUID()}`;

function refusals(onRefused: SandboxRules['onRefusedHost']) {
  return onRefused === undefined ? {} : { onRefused };
}
