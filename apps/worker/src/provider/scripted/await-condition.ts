import { once } from 'node:events';
import { existsSync, watch } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Step } from './script.js';

/** Waits for what a `wait` step names; rejects when the turn is interrupted. */
export async function awaitCondition(wait: NonNullable<Step['wait']>, signal: AbortSignal): Promise<void> {
  if ('seconds' in wait) await pause(wait.seconds * 1_000, undefined, { signal });
  else if ('file' in wait) await awaitFile(resolve(wait.file), signal);
  else await once(process, wait.signal, { signal });
}

/** Watches the folder before the first look, so that a file made in between is not missed. */
async function awaitFile(path: string, signal: AbortSignal): Promise<void> {
  const watcher = watch(dirname(path));
  try {
    while (!existsSync(path)) await once(watcher, 'change', { signal });
  } finally {
    watcher.close();
  }
}

/** For ever; the timer keeps the process alive when all its pipes are gone. */
export async function hang(signal: AbortSignal): Promise<void> {
  const alive = setInterval(() => {}, 60_000);
  try {
    if (!signal.aborted) await once(signal, 'abort');
  } finally {
    clearInterval(alive);
  }
}

/** Not even the event loop runs: no signal is handled and nothing is read; only KILL and STOP reach it. */
export function hangDeaf(): never {
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}
