import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';

/**
 * Names one process for good. A pid alone is given to another process sooner or later; together with the start time it is not.
 * `started` is opaque: clock ticks since boot on Linux, the text of `ps` elsewhere.
 */
export const ProcessMark = z.strictObject({ pid: z.int().positive(), started: z.string() });
export type ProcessMark = Readonly<z.infer<typeof ProcessMark>>;

/** The mark of a running process, or undefined when there is none; a zombie counts as gone. */
export function markOf(pid: number): ProcessMark | undefined {
  const started = process.platform === 'linux' ? startedOnLinux(pid) : startedElsewhere(pid);
  return started === undefined ? undefined : { pid, started };
}

export function isAlive(mark: ProcessMark): boolean {
  return markOf(mark.pid)?.started === mark.started;
}

/** The process with this pid, when it is alive and was started with this argument: the way to know one of ours again. */
export function findWithArgument(pid: number, argument: string): ProcessMark | undefined {
  const mark = markOf(pid);
  return mark !== undefined && ` ${commandLineOf(pid)} `.includes(` ${argument} `) ? mark : undefined;
}

function commandLineOf(pid: number): string {
  try {
    if (process.platform === 'linux') return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ');
    return ps(pid, 'command');
  } catch {
    return '';
  }
}

/** Sends the signals one after another, each with its patience in milliseconds, until the process is gone. */
export async function endProcess(
  mark: ProcessMark,
  steps: readonly (readonly [NodeJS.Signals, number])[],
): Promise<boolean> {
  for (const [signal, patienceMs] of steps) {
    if (!isAlive(mark)) return true;
    sendSignal(mark.pid, signal);
    if (await isGoneWithin(mark, patienceMs)) return true;
  }
  return !isAlive(mark);
}

async function isGoneWithin(mark: ProcessMark, patienceMs: number): Promise<boolean> {
  // A process that is not our child sends no event when it ends, so we look.
  const until = performance.now() + patienceMs;
  while (isAlive(mark)) {
    if (performance.now() > until) return false;
    await pause(20);
  }
  return true;
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // gone between the look and the signal
  }
}

function startedOnLinux(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses may hold spaces; the fields after it are fixed.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

function startedElsewhere(pid: number): string | undefined {
  try {
    const state = ps(pid, 'state');
    return state === '' || state.startsWith('Z') ? undefined : ps(pid, 'lstart');
  } catch {
    return undefined;
  }
}

function ps(pid: number, column: string): string {
  return execFileSync('ps', ['-o', `${column}=`, '-p', String(pid)], { encoding: 'utf8' }).trim();
}
