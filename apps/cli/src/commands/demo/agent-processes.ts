import { setTimeout as pause } from 'node:timers/promises';
import { processesWith, type SeenProcess } from '../../farm/process-scan.js';
import type { Session } from './stage.js';

const everyMs = 100;
const patienceMs = 20_000;

/** What the environment of every process of a session's agent holds: the mark that the guardian puts there. */
export function agentOf({ workerId, job, epoch }: Session): readonly string[] {
  return [`LONGSHORE_WORKER=${workerId}`, `LONGSHORE_JOB=${job}:${epoch}`];
}

/** Looks until no such process is left; false when some are still there in the end. */
export async function untilNone(texts: readonly string[], signal: AbortSignal): Promise<boolean> {
  return await untilSeen(texts, (seen) => seen.length === 0, signal);
}

/** Processes of others send no event when they change, so we look; bounded. */
export async function untilSeen(
  texts: readonly string[],
  fits: (seen: readonly SeenProcess[]) => boolean,
  signal: AbortSignal,
  withinMs: number = patienceMs,
): Promise<boolean> {
  for (let waited = 0; waited < withinMs; waited += everyMs) {
    if (fits(await processesWith(texts))) return true;
    await pause(everyMs, undefined, { signal });
  }
  return fits(await processesWith(texts));
}
