import { limits } from '#contracts';
import type { GuardedTree } from '../process/guarded-tree.js';
import { boundedLines } from './bounded-lines.js';
import { EventQueue } from './event-queue.js';
import type { ProviderEvent, ProviderFailure } from './events.js';

/** The events of one line; none where it says nothing to the worker. */
type LineReader = (line: string) => ProviderEvent | readonly ProviderEvent[] | undefined;

/** What an adapter knows when its process is gone. */
interface SessionEnding {
  /** Events that no line told. */
  rest?(): readonly ProviderEvent[];
  /** Why it ended that said nothing, as far as its stderr tells. */
  explain?(): ProviderFailure | undefined;
}

/**
 * The events of a provider that writes one JSON per line, to its end: `exit` is always the last. An end that nobody asked for
 * and that the provider did not explain is a crash; exit 0 after a finished turn is none, but how some providers end each turn. Call it as soon as the tree runs; lines are read whether or not anybody
 * reads the events, up to the queue's capacity, so that answers come through.
 */
export function sessionEvents(
  tree: GuardedTree,
  read: LineReader,
  ending: SessionEnding = {},
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
    .then(async ({ explained, last }) => {
      const { exit, unasked } = await ended;
      const turnWasAll = exit.code === 0 && last?.type === 'turn_end' && last.how === 'finished';
      for (const event of ending.rest?.() ?? []) await queue.push(event);
      if (unasked && !explained && !turnWasAll)
        await queue.push({ type: 'failed', failure: ending.explain?.() ?? crashOf(exit) });
      await queue.push({ type: 'exit', code: exit.code, signal: exit.signal });
    })
    .finally(() => queue.close());
  return queue;
}

/** Answers whether the provider said itself why it ended, and its last word. */
async function pump(
  tree: GuardedTree,
  read: LineReader,
  queue: EventQueue,
): Promise<{ readonly explained: boolean; readonly last: ProviderEvent | undefined }> {
  let explained = false;
  let last: ProviderEvent | undefined;
  try {
    for await (const line of boundedLines(tree.stdout, limits.providerLineBytes)) {
      for (const event of [read(line) ?? []].flat()) {
        explained ||= event.type === 'failed';
        last = event;
        await queue.push(event);
      }
    }
  } catch {
    // A pipe that broke has ended.
  }
  return { explained, last };
}

function crashOf(exit: Awaited<GuardedTree['exited']>) {
  const how = exit.signal === null ? `with code ${exit.code}` : `by ${exit.signal}`;
  return { class: 'crash', detail: `The provider's process ended ${how}.` } as const;
}
