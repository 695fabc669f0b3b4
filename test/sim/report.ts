import type { Failure } from './run-seed.js';
import { Tally, type TallyCounts } from './tally.js';

/** What a run of seeds came to: the last line of stdout under `--json`. */
export interface SimReport {
  readonly seeds: number;
  readonly steps: number;
  readonly failures: readonly Failure[];
  readonly tally: TallyCounts;
}

export function merged(reports: readonly SimReport[]): SimReport {
  const tally = new Tally();
  for (const report of reports) tally.add(report.tally);
  return {
    seeds: reports.reduce((sum, { seeds }) => sum + seeds, 0),
    steps: reports[0]?.steps ?? 0,
    failures: reports.flatMap(({ failures }) => failures),
    tally: tally.counted(),
  };
}

const mostNames = 24;

/** How often each thing happened, for people, and how many seconds it took. */
export function tableOf({ seeds, steps, failures, tally }: SimReport, seconds: number): string {
  const groups = Object.entries(tally).map(([group, names]) => {
    const all = Object.entries(names);
    const shown = all.slice(0, mostNames).map(([name, count]) => `${String(count).padStart(8)}  ${name}`);
    const rest = all.length > mostNames ? [`          and ${all.length - mostNames} more`] : [];
    return [`\n${group}`, ...shown, ...rest].join('\n');
  });
  return `${seeds} seeds of ${steps} steps in ${Math.round(seconds)} s, ${failures.length} failed\n${groups.join('\n')}`;
}
