/**
 * `npm run test:sim [-- --seeds 1000]`: the suite. `npm run test:sim -- --seed 4711 [--steps 300] [--trace]`: seeds by themselves, from
 * that one on.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const node = join(root, 'node_modules/.bin/node');
const args = process.argv.slice(2);
const at = args.indexOf('--seeds');
const alone = args.includes('--seed') || args.includes('--plant');
const env = { ...process.env, ...(at >= 0 && { LONGSHORE_SIM_SEEDS: args[at + 1] }) };
const rest = at < 0 || alone ? args : args.toSpliced(at, 2);
const command = alone
  ? ['--import', './test/support/typescript.mjs', 'test/sim/main.ts', ...rest]
  : ['test/run.mjs', 'sim', ...rest];
const run = spawn(node, command, { cwd: root, stdio: 'inherit', env });
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => run.kill(signal));
run.on('close', (code, signal) => process.exit(code ?? (signal === null ? 1 : 130)));
