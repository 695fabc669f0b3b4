import { readdirSync, readFileSync } from 'node:fs';

/** Processes whose environment carries this text: what a farm's agents are marked by. Linux. */
export function processesMarked(text: string): readonly number[] {
  return allPids().filter((pid) => readProc(pid, 'environ').includes(text));
}

/** Every command line of the machine, arguments split by NUL. */
export function allCommandLines(): readonly string[] {
  return allPids().map((pid) => readProc(pid, 'cmdline'));
}

/** `T` is stopped, `S` sleeping, `R` running, `Z` a zombie; empty when it is gone. */
export function stateOf(pid: number): string {
  return /^\d+ \(.*\) (\S)/s.exec(readProc(pid, 'stat'))?.[1] ?? '';
}

function allPids(): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    // It ended meanwhile, or is another user's.
    return '';
  }
}
