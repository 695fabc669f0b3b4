import { limits } from '#contracts';
import type { GuardedTree } from '../process/guarded-tree.js';
import { boundedLines } from './bounded-lines.js';
import { EventQueue } from './event-queue.js';
import type { ProviderEvent } from './events.js';

/**
 * The events of a provider that writes one JSON per line, to its end: `exit` is always the last. An end that nobody asked for
 * and that the provider did not explain is a crash. Call it as soon as the tree runs; lines are read whether or not anybody
 * reads the events, up to the queue's capacity, so that answers come through.
 */
export function sessionEvents(
  tree: GuardedTree,
  read: (line: string) => ProviderEvent | undefined,
): AsyncIterable<ProviderEvent> {
  const queue = new EventQueue(limits.providerEvents);
  let asked = false;
  tree.onState((state) => {
    asked ||= state === 'ending';
  });
  const ended = tree.exited.then((exit) => {
    const unasked = !asked;
    // The session ends with its first process; what that leaves behind may hold the pipe open for ever.
    void tree.stop();
    return { exit, unasked };
  });
  void pump(tree, read, queue)
    .then(async (explained) => {
      const { exit, unasked } = await ended;
      if (unasked && !explained) await queue.push({ type: 'failed', failure: crashOf(exit) });
      await queue.push({ type: 'exit', code: exit.code, signal: exit.signal });
    })
    .finally(() => queue.close());
  return queue;
}

/** Answers whether the provider said itself why it ended. */
async function pump(
  tree: GuardedTree,
  read: (line: string) => ProviderEvent | undefined,
  queue: EventQueue,
): Promise<boolean> {
  let explained = false;
  try {
    for await (const line of boundedLines(tree.stdout, limits.providerLineBytes)) {
      const event = read(line);
      if (event === undefined) continue;
      explained ||= event.type === 'failed';
      await queue.push(event);
    }
  } catch {
    // A pipe that broke has ended.
  }
  return explained;
}

function crashOf(exit: Awaited<GuardedTree['exited']>) {
  const how = exit.signal === null ? `with code ${exit.code}` : `by ${exit.signal}`;
  return { class: 'crash', detail: `The provider's process ended ${how}.` } as const;
}
