import { readFileSync } from 'node:fs';

export interface ProcessSeen {
  readonly process: string;
  readonly start_mb: number;
  readonly most_mb: number;
  readonly end_mb: number;
  /** Resident at the end of each part of the run, and the processor's time in it. */
  readonly parts: readonly { readonly part: string; readonly mb: number; readonly cpu_seconds: number }[];
}

interface Watched {
  readonly pid: number;
  readonly start: number;
  most: number;
  spent: number;
  readonly parts: { part: string; mb: number; cpu_seconds: number }[];
}

const lookMs = 250;
/** Ticks of /proc/<pid>/stat: Linux tells programs 100 a second, whatever it counts with. */
const ticksPerSecond = 100;

/** Resident memory and processor time of processes over the parts of a run, as the system tells them. */
export class ProcessWatch {
  private readonly watched = new Map<string, Watched>();
  private readonly timer: NodeJS.Timeout;

  constructor(pids: Readonly<Record<string, number>>) {
    for (const [name, pid] of Object.entries(pids)) {
      const now = residentMb(pid);
      this.watched.set(name, { pid, start: now, most: now, spent: cpuSeconds(pid), parts: [] });
    }
    this.timer = setInterval(() => this.look(), lookMs);
  }

  /** A part of the run is over. */
  mark(part: string): void {
    for (const seen of this.watched.values()) {
      const spent = cpuSeconds(seen.pid);
      seen.parts.push({ part, mb: residentMb(seen.pid), cpu_seconds: Number((spent - seen.spent).toFixed(2)) });
      seen.spent = spent;
    }
  }

  end(): readonly ProcessSeen[] {
    clearInterval(this.timer);
    this.look();
    return [...this.watched].map(([process, { pid, start, most, parts }]) => ({
      process,
      start_mb: start,
      most_mb: most,
      end_mb: residentMb(pid),
      parts,
    }));
  }

  private look(): void {
    for (const seen of this.watched.values()) seen.most = Math.max(seen.most, residentMb(seen.pid));
  }
}

function residentMb(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Math.round(Number(kilobytes) / 1024);
}

function cpuSeconds(pid: number): number {
  // the name of the program may hold anything: fields are counted behind its bracket
  const [, ...fields] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  const [user, system] = (fields.at(-1) ?? '').split(' ').slice(11, 13);
  return (Number(user) + Number(system)) / ticksPerSecond;
}
