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

/** Lives seeds in processes of their own: each makes the ids of the farm itself, so that a seed makes the same ones again. */
async function liveIn(args: readonly string[]): Promise<SimReport> {
  const { stdout } = await execa(
    process.execPath,
    ['--import', './test/support/typescript.mjs', 'test/sim/main.ts', '--json', ...args],
    { cwd: root, stderr: 'inherit', reject: false, maxBuffer: 64 * 1024 * 1024 },
  );
  return Report.parse(JSON.parse(stdout.trim().split('\n').at(-1) ?? ''));
}

/** From the first seed on, in as many processes as there are processors, two at least. */
export async function liveMany(seeds: number): Promise<SimReport> {
  const processes = Math.max(2, availableParallelism() - 1);
  const share = Math.ceil(seeds / processes);
  const froms = Array.from({ length: processes }, (_, n) => 1 + n * share).filter((from) => from <= seeds);
  const reports = froms.map((from) =>
    liveIn(['--seed', String(from), '--seeds', String(Math.min(share, seeds - from + 1))]),
  );
  return merged(await Promise.all(reports));
}

/** Until the planted bug is seen, in so many seeds at most. */
export function liveWith(plant: string, seeds: number): Promise<SimReport> {
  return liveIn(['--plant', plant, '--seeds', String(seeds)]);
}
