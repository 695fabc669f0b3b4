import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { FarmClient } from '../../client/farm-client.js';
import { plainText } from '../../output/terminal-text.js';

/** Between two looks at a command that says nothing now. */
export const lookMs = 300;

/** A line is shown when it is whole, one without an end when it is so long. */
const lineChars = 64 * 1024;

interface Following {
  readonly taskId: string;
  readonly commandId: string;
  /** To its end; else what there is now. */
  readonly follow: boolean;
  readonly stdout: NodeJS.WritableStream;
  readonly signal: AbortSignal;
}

/** Shows what a command says as fast as it says it, without what a terminal obeys (H38). Answers whether it said anything. */
export async function followOutput(
  client: FarmClient,
  { taskId, commandId, follow, stdout, signal }: Following,
): Promise<boolean> {
  const decoder = new TextDecoder();
  let line = '';
  let hasSaid = false;
  const show = async (text: string): Promise<void> => {
    hasSaid ||= text !== '';
    if (text !== '' && !stdout.write(plainText(text))) await once(stdout, 'drain', { signal });
  };
  for (let from: string | undefined; ; ) {
    const { head, body } = await client.getOutput(taskId, commandId, from, signal);
    for await (const chunk of body) {
      line += decoder.decode(chunk, { stream: true });
      // a terminal sequence that is cut in two would be shown
      const end = line.length > lineChars ? line.length : line.lastIndexOf('\n') + 1;
      await show(line.slice(0, end));
      line = line.slice(end);
    }
    from = head.next ?? undefined;
    if (head.is_bounded) continue;
    await show(line);
    line = '';
    if (head.ended) return hasSaid;
    if (!follow) return true;
    await pause(lookMs, undefined, { signal });
  }
}
