import { setTimeout as pause } from 'node:timers/promises';

export interface WaitOptions {
  /** Milliseconds, 30,000 when absent: for what does not come, not for what is slow. */
  readonly within?: number;
  /** Milliseconds between two looks, 20 when absent. */
  readonly every?: number;
  /** Said when the deadline passes. */
  readonly what?: string;
}

/**
 * Looks until the answer is truthy and returns it; throws at the deadline. A look that throws counts as a no, its message ends up
 * in ours.
 */
export async function waitUntil<T>(
  look: () => T | Promise<T>,
  options: WaitOptions = {},
): Promise<Exclude<T, false | 0 | '' | null | undefined>> {
  const { within = 30_000, every = 20, what = look.toString() } = options;
  const until = performance.now() + within;
  let last: unknown;
  do {
    try {
      const answer = await look();
      if (isYes(answer)) return answer;
      last = answer;
    } catch (error) {
      last = error;
    }
    await pause(every);
  } while (performance.now() < until);
  throw new Error(
    `Not within ${within} ms: ${what}. Last look: ${last instanceof Error ? last.message : JSON.stringify(last)}`,
  );
}

function isYes<T>(answer: T): answer is Exclude<T, false | 0 | '' | null | undefined> {
  return Boolean(answer);
}
