/**
 * Runs one suite of tests: `node test/run.mjs unit [jest arguments]`. Jest gets the Node that came with `npm ci`, the module
 * loader it needs for ESM, and a result file in .test-results/<suite>.json.
 */
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const suites = ['unit', 'e2e'];
const root = fileURLToPath(new URL('..', import.meta.url));
const [suite = '', ...rest] = process.argv.slice(2);
if (!suites.includes(suite)) {
  console.error(`usage: node test/run.mjs <${suites.join('|')}> [jest arguments]`);
  process.exit(2);
}

const results = join(root, '.test-results');
mkdirSync(results, { recursive: true });
const bin = join(root, 'node_modules/.bin');
const jest = spawn(
  join(bin, 'node'),
  [
    '--experimental-vm-modules',
    '--disable-warning=ExperimentalWarning',
    join(root, 'node_modules/jest/bin/jest.js'),
    '--selectProjects',
    suite,
    '--json',
    `--outputFile=${join(results, `${suite}.json`)}`,
    // Real processes and one database share the machine: time-outs are for what hangs, not for what is slow.
    '--testTimeout=60000',
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
