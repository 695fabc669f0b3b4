import { readdirSync, readFileSync } from 'node:fs';

/** Milliseconds of processor time that each part has had since it started. */
export interface ProcessorTime {
  readonly postgres: number;
  readonly controller: number;
  /** This process: the driver, and what runs in it. */
  readonly driver: number;
}

interface Measured {
  /** The server; its backends are its children. */
  readonly postgres: number;
  readonly controller: number;
}

/** Linux counts in hundredths of a second. */
const msPerTick = 10;

/** Unlike jobs per second it says the same on a machine that is busy with something else. Linux only. */
export function processorTime({ postgres, controller }: Measured): ProcessorTime {
  const { user, system } = process.cpuUsage();
  return {
    postgres: ofFamily(postgres),
    controller: ticksOf(controller).own * msPerTick,
    driver: (user + system) / 1000,
  };
}

/** Of the server and all its children, also of those that have gone. */
function ofFamily(parent: number): number {
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => ticksOf(Number(name)))
    .filter(({ of }) => of === parent);
  const { own, gone } = ticksOf(parent);
  return children.reduce((sum, child) => sum + child.own, own + gone) * msPerTick;
}

function ticksOf(pid: number): { readonly of: number; readonly own: number; readonly gone: number } {
  // After the name in brackets, which may hold anything: state, parent, …, utime, stime, cutime, cstime.
  const fields = statOf(pid).split(') ').at(-1)?.split(' ') ?? [];
  const at = (n: number) => Number(fields[n] ?? 0);
  return { of: at(1), own: at(11) + at(12), gone: at(13) + at(14) };
}

/** Empty for a process that has just ended. */
function statOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return '';
  }
}
