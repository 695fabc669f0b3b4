import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** One process of this machine. Pids are reused, (pid, started) is not. */
export interface ProcessRow {
  readonly pid: number;
  readonly parent: number;
  readonly session: number;
  readonly started: string;
  readonly stopped: boolean;
}

/**
 * What the operating system says of its processes. Ended processes that nobody reaped (zombies) count as gone: they run
 * nothing, hold nothing, and under an init that does not reap they stay for ever.
 */
export interface ProcessTable {
  rows(): readonly ProcessRow[];
  /** The environment that the process was started with, `A=1\0B=2\0`; empty where we may not look. */
  environmentOf(pid: number): string;
}

/** Linux: /proc. */
const procTable: ProcessTable = {
  rows: () =>
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((name) => parseStat(readOrEmpty(`/proc/${name}/stat`))),
  environmentOf: (pid) => readOrEmpty(`/proc/${pid}/environ`),
};

/**
 * macOS: ps. It shows the environment of one's own processes only, glued to the command line and split at blanks, and no usable
 * session id, so the process group stands in for it.
 */
const psTable: ProcessTable = {
  rows: () =>
    ps('-axo', 'pid=,ppid=,pgid=,stat=,lstart=')
      .split('\n')
      .flatMap((line) => {
        const [pid, parent, group, state, ...started] = line.trim().split(/\s+/);
        if (pid === undefined || state === undefined || state.startsWith('Z')) return [];
        return [
          {
            pid: Number(pid),
            parent: Number(parent),
            session: Number(group),
            started: started.join(' '),
            stopped: state.startsWith('T'),
          },
        ];
      }),
  environmentOf: (pid) => ps('-Eww', '-o', 'command=', '-p', String(pid)).trim().replaceAll(' ', '\0'),
};

export const processTable: ProcessTable = process.platform === 'linux' ? procTable : psTable;

/** `pid (name) state ppid pgrp session …`, the 22nd field is the start; the name may hold anything, so count from its last `)`. */
function parseStat(stat: string): readonly ProcessRow[] {
  const [state, parent, , session, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const started = rest[15];
  if (state === undefined || started === undefined || state === 'Z' || state === 'X') return [];
  return [
    {
      pid: Number.parseInt(stat, 10),
      parent: Number(parent),
      session: Number(session),
      started,
      stopped: state === 'T' || state === 't',
    },
  ];
}

/** A process may end between the listing and the look; another user's may not be looked at. Both read as nothing. */
function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

function ps(...args: readonly string[]): string {
  try {
    return execFileSync('/bin/ps', args, { encoding: 'latin1', maxBuffer: 64 * 1024 * 1024 });
  } catch {
    return '';
  }
}
