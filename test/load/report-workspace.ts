import { machine } from './machine.js';

export interface Measured {
  readonly way: string;
  /** The first time: layers and caches were made. */
  readonly cold: boolean;
  readonly prepare_ms: number;
  readonly status_ms: number;
  readonly capture_ms: number | null;
  readonly teardown_ms: number;
}

export interface Skipped {
  readonly way: string;
  readonly why: string;
}

interface Row {
  readonly way: string;
  readonly cold_prepare_ms: number;
  readonly prepare_ms: number;
  readonly status_ms: number;
  /** From nothing to the answer of the first `git status`. */
  readonly ready_ms: number;
  readonly capture_ms: number | null;
  readonly teardown_ms: number;
}

export interface Report {
  readonly files: number;
  readonly rows: readonly Row[];
  readonly skipped: readonly Skipped[];
  readonly ratios: Readonly<Record<string, number | null>>;
}

interface Bar {
  readonly ratio: string;
  readonly says: string;
  readonly holds: (value: number) => boolean;
}

/** Design §11: what must hold, by name of the ratio. */
const bars: readonly Bar[] = [
  { ratio: 'overlay_warm_ready_ms', says: 'overlay, warm, to first git status ≤ 300 ms', holds: (ms) => ms <= 300 },
  { ratio: 'clone_ready_ms', says: 'clone to first git status ≤ 4 s', holds: (ms) => ms <= 4_000 },
];

export function reportOf(run: {
  readonly files: number;
  readonly measured: readonly Measured[];
  readonly skipped: readonly Skipped[];
}): Report {
  const names = [...new Set(run.measured.map(({ way }) => way))];
  const rows = names.map((way) => rowOf(way, run.measured));
  const ready = (way: string): number | null => rows.find((row) => row.way === way)?.ready_ms ?? null;
  const over = (way: string, other: string): number | null => {
    const [a, b] = [ready(way), ready(other)];
    return a === null || b === null ? null : round(a / b);
  };
  return {
    files: run.files,
    rows,
    skipped: run.skipped,
    ratios: {
      overlay_warm_ready_ms: ready('overlay'),
      clone_ready_ms: ready('clone'),
      overlay_to_worktree: over('overlay', 'git worktree add'),
      overlay_to_copy: over('overlay', 'cp -a'),
      reflink_to_worktree: over('reflink', 'git worktree add'),
      reflink_to_copy: over('reflink', 'cp -a'),
      clone_to_worktree: over('clone', 'git worktree add'),
      clone_to_copy: over('clone', 'cp -a'),
    },
  };
}

function rowOf(way: string, measured: readonly Measured[]): Row {
  const warm = measured.filter((one) => one.way === way && !one.cold);
  const middle = (of: (one: Measured) => number): number => Math.round(median(warm.map(of)));
  const captures = warm.flatMap(({ capture_ms }) => (capture_ms === null ? [] : [capture_ms]));
  return {
    way,
    cold_prepare_ms: Math.round(measured.find((one) => one.way === way && one.cold)?.prepare_ms ?? Number.NaN),
    prepare_ms: middle(({ prepare_ms }) => prepare_ms),
    status_ms: middle(({ status_ms }) => status_ms),
    ready_ms: middle(({ prepare_ms, status_ms }) => prepare_ms + status_ms),
    capture_ms: captures.length === 0 ? null : Math.round(median(captures)),
    teardown_ms: middle(({ teardown_ms }) => teardown_ms),
  };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

const round = (value: number): number => Math.round(value * 1000) / 1000;

/** The page that the command writes. Ratios first: numbers of one machine say nothing of another. */
export function pageOf(report: Report, run: { readonly seconds: number }): string {
  const { rows, ratios, skipped, files } = report;
  return `# Benchmarks of workspaces

Written by \`npm run bench:workspace\`; do not edit. A repository of ${files} files, all ways in turn (A-B-A-B) on the same disk but for
\`reflink\`, which has a btrfs on a loop device; the median counts, times are milliseconds.

Machine: ${machine()}, ${process.platform} ${process.arch}.
The run took ${Math.round(run.seconds)} s.

## What must hold

| bar | measured | holds |
|---|---|---|
${bars.map((bar) => barLine(bar, ratios[bar.ratio] ?? null)).join('\n')}

## To the first git status

Smaller is better: 0.1 is ten times as fast.

| workspace | × git worktree add | × cp -a |
|---|---|---|
${['overlay', 'reflink', 'clone'].map((way) => `| ${way} | ${shown(ratios[`${way}_to_worktree`])} | ${shown(ratios[`${way}_to_copy`])} |`).join('\n')}

## Each step

\`cold\` is the first one of a base on a machine: the repository is unpacked and the template made. A capture reads every byte; it is
only measured for what we capture.

| way | cold | prepare | first status | both | capture of 6 changed files | teardown |
|---|---|---|---|---|---|---|
${rows.map((row) => `| ${row.way} | ${row.cold_prepare_ms} | ${row.prepare_ms} | ${row.status_ms} | ${row.ready_ms} | ${row.capture_ms ?? '–'} | ${row.teardown_ms} |`).join('\n')}
${skipped.map(({ way, why }) => `\nSkipped: \`${way}\`, ${why}.\n`).join('')}`;
}

function barLine({ says, holds }: Bar, value: number | null): string {
  return `| ${says} | ${value ?? '–'} | ${value === null ? 'not measured' : holds(value) ? 'yes' : 'no'} |`;
}

function shown(value: number | null | undefined): string {
  return value === null || value === undefined ? '–' : value.toFixed(2);
}
