import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { z } from 'zod';
import { merged, type SimReport } from './report.js';

const root = join(import.meta.dirname, '../..');

const Counted = z.record(z.string(), z.record(z.string(), z.number()));
const Report = z.object({
  seeds: z.number(),
  steps: z.number(),
  failures: z.array(
    z.object({
      seed: z.number(),
      step: z.number(),
      rule: z.string(),
      says: z.string(),
      seen: z.string(),
      lately: z.array(z.string()),
    }),
  ),
  tally: Counted,
});

/**
 * What starting a git costs is the memory of who starts it: it is kept near to what is used, instead of what a long life may grow to.
 */
const small = ['--max-semi-space-size=4', '--max-old-space-size=256'];

/**
 * Lives seeds in a process of their own: it makes the ids of the farm itself, so that a seed makes the same ones again. Answers its
 * last reports.
 */
async function liveIn(args: readonly string[], reports = 1): Promise<readonly SimReport[]> {
  const { stdout } = await execa(
    process.execPath,
    [...small, '--import', './test/support/typescript.mjs', 'test/sim/main.ts', '--json', ...args],
    { cwd: root, stderr: 'inherit', reject: false, maxBuffer: 64 * 1024 * 1024 },
  );
  const lines = stdout.trim().split('\n').slice(-reports);
  return lines.map((line) => Report.parse(JSON.parse(line)));
}

/** In so many processes at once: as there are processors, two at least. */
const processes = Math.max(2, availableParallelism() - 1);

/** From the first seed on. */
export async function liveMany(seeds: number): Promise<SimReport> {
  const share = Math.ceil(seeds / processes);
  const froms = Array.from({ length: processes }, (_, n) => 1 + n * share).filter((from) => from <= seeds);
  const reports = froms.map((from) =>
    liveIn(['--seed', String(from), '--seeds', String(Math.min(share, seeds - from + 1))]),
  );
  return merged((await Promise.all(reports)).flat());
}

/**
 * With each planted bug until it is seen, in so many seeds at most: reports in the order of the plants. A process takes many: to
 * start one takes as long as to see a bug.
 */
export async function liveWith(plants: readonly string[], seeds: number): Promise<readonly SimReport[]> {
  const share = Math.ceil(plants.length / processes);
  const shares = Array.from({ length: processes }, (_, n) => plants.slice(n * share, (n + 1) * share));
  const lives = shares
    .filter((mine) => mine.length > 0)
    .map((mine) => liveIn([...mine.flatMap((plant) => ['--plant', plant]), '--seeds', String(seeds)], mine.length));
  return (await Promise.all(lives)).flat();
}
