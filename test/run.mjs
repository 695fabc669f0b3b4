/**
 * Runs one suite of tests: `node test/run.mjs unit [jest arguments]`. Jest gets the Node that came with `npm ci`, the module
 * loader it needs for ESM, and a result file in .test-results/<suite>.json.
 */
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Suites, and how long one test of each may take: time-outs are for what hangs, not for what is slow. */
const suites = { unit: 60_000, e2e: 300_000, adversarial: 120_000, sim: 600_000, providers: 300_000 };
const root = fileURLToPath(new URL('..', import.meta.url));
const [suite = '', ...rest] = process.argv.slice(2);
if (!Object.hasOwn(suites, suite)) {
  console.error(`usage: node test/run.mjs <${Object.keys(suites).join('|')}> [jest arguments]`);
  process.exit(2);
}

const results = join(root, '.test-results');
mkdirSync(results, { recursive: true });
const bin = join(root, 'node_modules/.bin');
/** Tests wait for processes more than they compute: two at once also on two cores. */
function filesAtOnce() {
  // Each file of the simulator keeps every core at work by itself.
  if (suite === 'sim') return 1;
  // One file of them waits out the outages.
  return Math.max(suite === 'e2e' ? 3 : 2, availableParallelism() - 1);
}

const jest = spawn(
  join(bin, 'node'),
  [
    '--experimental-vm-modules',
    '--disable-warning=ExperimentalWarning',
    // See --workerIdleMemoryLimit.
    '--max-semi-space-size=4',
    join(root, 'node_modules/jest/bin/jest.js'),
    '--selectProjects',
    suite,
    '--json',
    `--outputFile=${join(results, `${suite}.json`)}`,
    `--testTimeout=${suites[suite]}`,
    `--maxWorkers=${filesAtOnce()}`,
    // A process of 1.5 GB takes thirty times as long to start another as a small one does, and tests start thousands of gits.
    '--workerIdleMemoryLimit=450MB',
    ...rest,
  ],
  {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` },
  },
);
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => jest.kill(signal));
jest.on('close', (code, signal) => process.exit(code ?? (signal === null ? 1 : 130)));
