import type { Readable, Writable } from 'node:stream';
import type { AnyMessage, Stream } from '@agentclientprotocol/sdk';
import { z } from 'zod';
import { limits } from '#contracts';
import { boundedLines } from '../bounded-lines.js';

/**
 * The pipes of an agent as the SDK wants them: one JSON per line. Lines are taken only when `room` says so, which holds the agent
 * up; a line that is too long or no JSON is left out. `ended` is called after the last.
 */
export function agentStream(
  stdin: Writable,
  stdout: Readable,
  { room, ended }: { readonly room: () => Promise<void>; readonly ended: () => void },
): Stream {
  const lines = boundedLines(stdout, limits.providerLineBytes);
  const readable = new ReadableStream<AnyMessage>(
    {
      async pull(controller) {
        await room();
        for (;;) {
          const line = await lines.next().catch(() => undefined);
          if (line === undefined || line.done === true) {
            controller.close();
            return ended();
          }
          const message = parseMessage(line.value);
          if (message !== undefined) return controller.enqueue(message);
        }
      },
    },
    { highWaterMark: 0 },
  );
  const writable = new WritableStream<AnyMessage>({
    write: (message) => {
      stdin.write(`${JSON.stringify(message)}\n`);
    },
  });
  return { readable, writable };
}

function parseMessage(line: string): AnyMessage | undefined {
  try {
    const content: unknown = JSON.parse(line);
    return isMessage(content) ? content : undefined;
  } catch {
    return undefined;
  }
}

function isMessage(content: unknown): content is AnyMessage {
  return typeof content === 'object' && content !== null && 'jsonrpc' in content && !isUnknownUpdate(content);
}

/** Kinds of updates that this version of the protocol does not know: the SDK would complain of each on our stderr. */
function isUnknownUpdate(content: object): boolean {
  const kind = UpdateKind.safeParse(content).data?.params.update.sessionUpdate;
  return kind !== undefined && !heardOf.has(kind);
}

const UpdateKind = z.looseObject({
  method: z.literal('session/update'),
  params: z.looseObject({ update: z.looseObject({ sessionUpdate: z.string() }) }),
});

/** The updates that are read (acp-updates.ts, and those that only show that the model answers). */
const heardOf: ReadonlySet<string> = new Set([
  ...['agent_message_chunk', 'agent_thought_chunk', 'plan'],
  ...['tool_call', 'tool_call_update', 'usage_update'],
]);
