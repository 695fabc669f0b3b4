import { resolve } from 'node:path';
import { buildOnce } from './build.js';
import { spawnTracked, type TrackedProcess } from './processes.js';

const main = resolve(import.meta.dirname, '../../dist/longshore.js');

/** Starts the built command line as a process of its own, with a home of its own. */
export async function spawnCli(words: readonly string[], home: string, cwd: string = home): Promise<TrackedProcess> {
  await buildOnce();
  const env = { PATH: process.env.PATH ?? '', HOME: home, TMPDIR: home };
  return await spawnTracked(process.execPath, [main, ...words], { cwd, env, detached: true });
}

/** The last line of stdout as JSON. */
export function lastJson(running: TrackedProcess): unknown {
  return JSON.parse(running.stdout().trim().split('\n').at(-1) ?? '');
}
