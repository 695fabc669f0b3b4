import { setTimeout as pause } from 'node:timers/promises';
import type { TreeEnd } from './guarded-tree.js';
import { machineClock } from './monotonic.js';
import { type ProcessRow, type ProcessTable, processTable } from './process-table.js';
import { markerOf, sameMarker, type TreeMarker } from './tree-marker.js';

/**
 * All processes of one tree, found anew at each look, by three signs: the marker in their environment, a parent in the tree, a
 * session of the tree. Processes once seen stay known (by pid and start), also when all signs are gone.
 *
 * Limits, for want of a subreaper and of cgroups: a process that drops the marker, leaves the session and is orphaned between
 * two looks escapes, and so does one of another user. The sandbox's process namespace closes both (H28).
 */
export class ProcessTree {
  private known = new Map<number, ProcessRow>();
  private graceEnds = Number.POSITIVE_INFINITY;

  constructor(
    private readonly marker: TreeMarker,
    private readonly table: ProcessTable = processTable,
  ) {}

  /** Takes in a process by its number, just after it was started: it may be one whose environment we may not read. */
  adopt(pid: number): void {
    const row = this.table.rows().find((candidate) => candidate.pid === pid);
    if (row !== undefined) this.known.set(pid, row);
  }

  /** The processes of the tree that live now. */
  members(): readonly ProcessRow[] {
    const rows = this.table.rows();
    const ours = selfAndAncestors(rows);
    const candidates = rows.filter((row) => !ours.pids.has(row.pid));
    const found = new Map<number, ProcessRow>();
    const sessions = new Set<number>();
    const take = (row: ProcessRow) => {
      found.set(row.pid, row);
      if (row.session > 1 && row.session !== ours.session) sessions.add(row.session);
    };

    for (const row of candidates) {
      // A known pid with another start is another process: its number was reused.
      if (this.known.get(row.pid)?.started === row.started || this.isMarked(row.pid)) take(row);
    }
    let before: number;
    do {
      before = found.size;
      for (const row of candidates) {
        // A session that still has a member cannot have been given to somebody else.
        if (!found.has(row.pid) && (found.has(row.parent) || sessions.has(row.session))) take(row);
      }
    } while (found.size > before);

    this.known = found;
    return [...found.values()];
  }

  /** Stops every process; true when none runs any more. Looks again until then, because one may fork while it is looked at. */
  async freeze(): Promise<boolean> {
    for (let look = 0; look < 40; look += 1) {
      const running = this.members().filter((row) => !row.stopped);
      if (running.length === 0) return true;
      for (const row of running) send(row, 'SIGSTOP');
      await pause(look < 5 ? 1 : 25);
    }
    return false;
  }

  thaw(): void {
    for (const row of this.members()) send(row, 'SIGCONT');
  }

  /**
   * TERM and CONT, grace, KILL, until two looks in a row find nothing: a process that forks and dies while /proc is being read
   * can hide its child from one look. Without grace nothing is let run again.
   */
  async end(graceMs: number): Promise<TreeEnd> {
    this.hurry(graceMs);
    if (graceMs > 0) await this.endGently();
    let empty = 0;
    for (let look = 0; look < 200; look += 1) {
      const left = this.members();
      empty = left.length === 0 ? empty + 1 : 0;
      if (empty === 2) return { empty: true };
      for (const row of left) send(row, 'SIGKILL');
      if (left.length > 0) await pause(look < 10 ? 2 : 50);
    }
    return { empty: false, survivors: this.members().map((row) => row.pid) };
  }

  /** Shortens the grace of an `end` that is under way; never lengthens it. */
  hurry(graceMs: number): void {
    this.graceEnds = Math.min(this.graceEnds, machineClock.now() + graceMs);
  }

  private async endGently(): Promise<void> {
    // TERM waits in a stopped process until CONT, so that its handler is the first thing that runs.
    for (const signal of ['SIGTERM', 'SIGCONT'] as const) {
      for (const row of this.members()) send(row, signal);
    }
    while (this.members().length > 0) {
      const leftMs = this.graceEnds - machineClock.now();
      if (leftMs <= 0) return;
      await pause(Math.min(100, leftMs + 1));
    }
  }

  private isMarked(pid: number): boolean {
    const marker = markerOf(this.table.environmentOf(pid));
    return marker !== undefined && sameMarker(marker, this.marker);
  }
}

/** Never a target: this process and those that it lives under, whatever their environment says. */
function selfAndAncestors(rows: readonly ProcessRow[]): {
  readonly pids: ReadonlySet<number>;
  readonly session: number;
} {
  const byPid = new Map(rows.map((row) => [row.pid, row]));
  const pids = new Set([0, 1, process.pid]);
  for (let row = byPid.get(process.pid); row !== undefined && !pids.has(row.parent); row = byPid.get(row.parent)) {
    pids.add(row.parent);
  }
  return { pids, session: byPid.get(process.pid)?.session ?? 0 };
}

/** A process that ended meanwhile, or that is not ours to signal, is found by the next look. */
function send(row: ProcessRow, signal: NodeJS.Signals): void {
  try {
    process.kill(row.pid, signal);
  } catch {
    // ESRCH, EPERM
  }
}
