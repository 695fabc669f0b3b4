import type { ProcessSeen } from './process-watch.js';

export interface Flow {
  readonly name: string;
  readonly bytes: number;
  readonly seconds: number;
  readonly mb_per_second: number;
  /** The farm has all of it. */
  readonly complete: boolean;
}

export interface Followed {
  readonly name: string;
  readonly lines: number;
  readonly p50_ms: number;
  readonly p95_ms: number;
  readonly max_ms: number;
}

interface Measured {
  readonly bytes: number;
  readonly flows: readonly Flow[];
  readonly followed: readonly Followed[];
  readonly processes: readonly ProcessSeen[];
  readonly machine: string;
}

interface Bar {
  readonly bar: string;
  readonly measured: number;
  readonly holds: boolean;
}

export interface Report extends Measured {
  readonly bars: readonly Bar[];
}

/** Resident memory may differ by so much and be called flat: buffers of a few segments, and what the collector has not yet freed. */
const flatMb = 100;

/** Design §11: 20 MB/s, seen within 1 s, memory flat. */
export function reportOf(run: Measured): Report {
  const slowest = Math.min(...run.flows.map(({ mb_per_second }) => mb_per_second));
  const latest = Math.max(...run.followed.map(({ p95_ms }) => p95_ms));
  const grown = (name: string): number => {
    const seen = run.processes.find(({ process }) => process === name);
    return seen === undefined ? 0 : seen.most_mb - seen.start_mb;
  };
  const bars = [
    // a paced command is a little slower than its pace: its start and its end are in it
    { bar: 'process to store ≥ 19 MB/s', measured: slowest, holds: slowest >= 19 },
    { bar: 'a line is shown within 1000 ms (p95)', measured: latest, holds: latest <= 1_000 },
    ...['controller', 'worker'].map((name) => ({
      bar: `memory of the ${name} grows by ≤ ${flatMb} MB`,
      measured: grown(name),
      holds: grown(name) <= flatMb,
    })),
  ];
  return { ...run, bars };
}

export function pageOf(report: Report): string {
  const row = (...cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`;
  return `# Command output, measured

Written by \`npm run bench:output\`; do not edit. A member has commands run that say ${report.bytes / 1e6} MB each: from the pipe of the process
through the worker, HTTP, token and fence to files with fsync on the controller. The time is from the farm's word that the command
started to its word that it ended, the capture of the workspace included. A line's delay is from the moment at which the command
says it to that at which \`longshore task output\`, a process of its own, shows it.

Machine: ${report.machine}.

| bar | measured | holds |
|---|---|---|
${report.bars.map(({ bar, measured, holds }) => row(bar, measured, holds ? 'yes' : 'no')).join('\n')}

| command | MB | seconds | MB/s | all of it stored |
|---|---|---|---|---|
${report.flows.map((flow) => row(flow.name, flow.bytes / 1e6, flow.seconds.toFixed(1), flow.mb_per_second, flow.complete ? 'yes' : 'no')).join('\n')}

| followed | lines timed | p50 ms | p95 ms | most ms |
|---|---|---|---|---|
${report.followed.map(({ name, lines, p50_ms, p95_ms, max_ms }) => row(name, lines, p50_ms, p95_ms, max_ms)).join('\n')}

| resident memory, MB | start | most | end |
|---|---|---|---|
${report.processes.map((seen) => row(seen.process, seen.start_mb, seen.most_mb, seen.end_mb)).join('\n')}

| process | part | MB resident after it | processor seconds in it |
|---|---|---|---|
${report.processes.flatMap(({ process, parts }) => parts.map(({ part, mb, cpu_seconds }) => row(process, part, mb, cpu_seconds))).join('\n')}
`;
}
