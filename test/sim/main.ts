/**
 * Lives seeds one after the other, and says what did not hold.
 *
 *   npm run test:sim -- --seed 4711 --trace     one seed again, each line of it
 *   npm run test:sim -- --seed 1 --seeds 50     many in this process
 *   … --steps 300  --plant 'a pause holds nothing' (also several)  --json (a line of stdout, for each plant one)
 */
import { parseArgs } from 'node:util';
import { startSharedServers, stopSharedServers } from '../support/shared-servers.js';
import { announced } from '../support/test-run.js';
import { openGround } from './ground.js';
import { type Plant, plants, rewriteOf } from './plants.js';
import { type SimReport, tableOf } from './report.js';
import { type Failure, runSeed } from './run-seed.js';
import { Tally } from './tally.js';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '1' },
    steps: { type: 'string', default: '80' },
    plant: { type: 'string', multiple: true, default: [] },
    trace: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});

const [first, count, steps] = [values.seed, values.seeds, values.steps].map(Number);
if (!isCount(first) || !isCount(count) || !isCount(steps))
  throw new Error('--seed, --seeds and --steps are whole numbers from 1');
const planted = values.plant.map((name) => {
  const plant = plants.find((each) => each.name === name);
  if (!plant) throw new Error(`There is no such plant. Known: ${plants.map((each) => each.name).join(' · ')}`);
  return plant;
});

function isCount(value: number | undefined): value is number {
  return value !== undefined && Number.isInteger(value) && value > 0;
}

/** Within a test run the servers are there. */
const own = !announced();
if (own) await startSharedServers();
try {
  const lives = planted.length > 0 ? planted : [undefined];
  for (const plant of lives) if ((await liveAll(first, count, steps, plant)).length > 0) process.exitCode = 1;
} finally {
  if (own) await stopSharedServers();
}

async function liveAll(from: number, many: number, most: number, plant?: Plant): Promise<readonly Failure[]> {
  const ground = await openGround(
    plant && { rewrite: rewriteOf(plant), ...(plant.unguard !== undefined && { unguard: plant.unguard }) },
  );
  const tally = new Tally();
  const failed: Failure[] = [];
  const began = performance.now();
  let lived = 0;
  try {
    for (let seed = from; seed < from + many; seed += 1) {
      const trace = values.trace ? { trace: (line: string) => console.error(line) } : {};
      const failure = await runSeed(ground, tally, { seed, steps: most, ...trace });
      lived += 1;
      if (failure) failed.push(failure);
      if (failure && !plant) tell(failure, most);
      // One is enough of what was planted.
      if (failure && plant) break;
      if (lived % 10 === 0) console.error(`${lived} of ${many} seeds, ${failed.length} failed`);
    }
  } finally {
    await ground.close();
  }
  const report: SimReport = { seeds: lived, steps: most, failures: failed, tally: tally.counted() };
  if (values.json) console.log(JSON.stringify(report));
  else console.log(tableOf(report, (performance.now() - began) / 1000));
  return failed;
}

function tell({ seed, step, rule, says, seen, lately }: Failure, most: number): void {
  console.error(`\nSeed ${seed} broke ${rule} at step ${step}: ${says}\n  ${seen}\n\nLately:\n${lately.join('\n')}`);
  console.error(`\nAgain: npm run test:sim -- --seed ${seed} --steps ${most} --trace\n`);
}
