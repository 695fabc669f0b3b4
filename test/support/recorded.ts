import { mkdirSync, writeFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { endProcess, markOf, ProcessMark } from '../../apps/cli/src/services/process-mark.js';
import { processesWith } from './inspect.js';

/** Notes a process in the run's folder, so that the end of the run finds it even when its test file never got to its own end. */
export function record(folder: string, pid: number): ProcessMark {
  const mark = markOf(pid) ?? { pid, started: 'never' };
  mkdirSync(join(folder, 'processes'), { recursive: true });
  writeFileSync(join(folder, 'processes', `${pid}.json`), JSON.stringify(mark));
  return mark;
}

export async function endRecorded(folder: string): Promise<void> {
  const names = await readdir(join(folder, 'processes')).catch(() => []);
  for (const name of names) {
    const mark = ProcessMark.parse(JSON.parse(await readFile(join(folder, 'processes', name), 'utf8')));
    await endProcess(mark, [['SIGKILL', 5_000]]);
  }
  await endStrays(folder);
}

/** Nobody else has this folder in its arguments: what still runs with it is a test's leak, worth a word. */
async function endStrays(folder: string): Promise<void> {
  for (const pid of processesWith(folder)) {
    const mark = pid === process.pid ? undefined : markOf(pid);
    if (mark === undefined) continue;
    console.warn(`A test left process ${pid} running; it is ended now.`);
    await endProcess(mark, [['SIGKILL', 5_000]]);
  }
}
