import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { childMain } from '../../process/child-main.js';
import type { Step } from './script.js';

/** Starts the stubborn grandchild and answers its pid once it is deaf to TERM. */
export async function startGrandchild(wish: NonNullable<Step['grandchild']>): Promise<string> {
  const { ignore_term, writes, bare_environment } =
    wish === true ? { ignore_term: true, writes: undefined, bare_environment: false } : wish;
  const argument = {
    stage: 'middle',
    parent: process.pid,
    ignore_term,
    bare_environment,
    ...(writes === undefined ? {} : { writes: resolve(writes) }),
  };
  const middle = spawn(process.execPath, [childMain(import.meta.url, './stubborn-main.js'), JSON.stringify(argument)], {
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit', 1],
  });
  const [pid] = await once(middle.stdout ?? middle, 'data');
  middle.stdout?.destroy();
  return String(pid).trim();
}
