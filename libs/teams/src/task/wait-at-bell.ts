import { bells } from '#contracts';
import type { TeamParts } from '../parts.js';

/** Without a bell that is heard, so often. */
const lookMs = 1_000;

/** Waits for a ring or a timer and looks, until what is waited for is there, the time is up or the caller has gone. */
export async function waitAtBell(
  { bell }: Pick<TeamParts, 'bell'>,
  task: string,
  isThere: () => Promise<boolean>,
  { atMostMs, signal }: { readonly atMostMs: number; readonly signal: AbortSignal },
): Promise<void> {
  const until = performance.now() + atMostMs;
  const ear = openEar();
  // Listening comes before the first look, so that no ring falls between the two.
  const stop = bell.listen(bells.task(task), ear.ring);
  signal.addEventListener('abort', ear.ring);
  try {
    while (!signal.aborted && !(await isThere())) {
      const left = until - performance.now();
      if (left <= 0) return;
      await ear.heard(Math.min(left, lookMs));
    }
  } finally {
    stop();
    signal.removeEventListener('abort', ear.ring);
  }
}

/** Remembers a ring that comes while nobody waits. */
function openEar(): { ring(): void; heard(atMostMs: number): Promise<void> } {
  let rung = false;
  let wake: (() => void) | undefined;
  return {
    ring() {
      rung = true;
      wake?.();
    },
    async heard(atMostMs) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, atMostMs);
      wake = resolve;
      if (rung) resolve();
      await promise;
      clearTimeout(timer);
      wake = undefined;
      rung = false;
    },
  };
}
