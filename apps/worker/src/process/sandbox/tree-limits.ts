import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { limits } from '#contracts';
import { ControlGroups } from './control-group.js';
import { pidCeiling } from './pid-ceiling.js';
import type { SandboxLimits } from './rules.js';

/** How the limits of one tree are held. */
export interface TreeLimits {
  /** Before the walls. */
  readonly outside: readonly string[];
  /** Before the command itself, inside the walls. */
  readonly inside: readonly string[];
  remove(): Promise<void>;
}

let groups: Promise<ControlGroups | undefined> | undefined;

/** The cgroups that this process may divide; looked for once. */
export function controlGroups(): Promise<ControlGroups | undefined> {
  groups ??= ControlGroups.find();
  return groups;
}

export function wholeLimits(wanted: Partial<SandboxLimits> = {}): SandboxLimits {
  return {
    pids: wanted.pids ?? limits.sandboxPids,
    memoryBytes: wanted.memoryBytes ?? limits.sandboxMemoryBytes,
    cpus: wanted.cpus ?? availableParallelism(),
  };
}

/**
 * By a cgroup of its own where this process may make one. Else by rlimits: memory counts for each process alone, processors are
 * only given less priority, and processes of root are counted by a process namespace, where the kernel can.
 *
 * @param name of the tree, unique on this machine
 * @param walled the tree has a user and process namespace of its own
 */
export async function limitTree(name: string, wanted: SandboxLimits, walled: boolean): Promise<TreeLimits> {
  const group = await (await controlGroups())?.make(name, wanted);
  if (group !== undefined) return { outside: group.entry, inside: [], remove: () => group.remove() };
  const remove = async (): Promise<void> => undefined;
  if (process.platform !== 'linux') return { outside: [], inside: ['nice', '-n', '5'], remove };
  const isRoot = process.getuid?.() === 0;
  const data = `--data=${wanted.memoryBytes}:${wanted.memoryBytes}`;
  // a namespace of users counts its own; without one all that the user runs are counted together
  const count = isRoot ? [] : [processCount(wanted.pids + (walled ? 0 : tasksOfUser()))];
  return {
    outside: (isRoot && walled ? await pidCeiling(wanted.pids) : undefined) ?? [],
    inside: ['nice', '-n', '5', 'prlimit', ...count, data, '--core=0:0', '--'],
    remove,
  };
}

/** Whether processes are counted here: those of root only in a cgroup, or behind walls by a namespace. */
export async function countsProcesses(walled: boolean): Promise<boolean> {
  if ((await controlGroups()) !== undefined || process.getuid?.() !== 0) return true;
  return walled && (await pidCeiling(limits.sandboxPids)) !== undefined;
}

const processCount = (most: number): string => `--nproc=${most}:${most}`;

function tasksOfUser(): number {
  const uid = process.getuid?.();
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .reduce((sum, pid) => {
      const status = readOrEmpty(`/proc/${pid}/status`);
      if (Number(/^Uid:\t(\d+)/m.exec(status)?.[1]) !== uid) return sum;
      return sum + Number(/^Threads:\t(\d+)/m.exec(status)?.[1] ?? 1);
    }, 0);
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // it ended meanwhile
    return '';
  }
}
