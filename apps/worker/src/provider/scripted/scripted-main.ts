/** The scripted provider's own process: orders on stdin, reports on stdout, one JSON per line; nothing in its arguments (H22). */
import { once } from 'node:events';
import { boundedLines } from '../bounded-lines.js';
import { ScriptedOrder, type ScriptedReport } from './protocol.js';
import { ScriptedSession } from './scripted-session.js';

async function emit(report: ScriptedReport): Promise<void> {
  if (!process.stdout.write(`${JSON.stringify(report)}\n`)) await once(process.stdout, 'drain');
}

function leave(code: number): void {
  process.stdout.write('', () => process.exit(code));
}

async function main(): Promise<void> {
  let session: ScriptedSession | undefined;
  for await (const line of boundedLines(process.stdin, Number.POSITIVE_INFINITY)) {
    const content: unknown = JSON.parse(line);
    const order = ScriptedOrder.parse(content);
    if (order.type !== 'begin') {
      await session?.hear(order);
      continue;
    }
    session = await ScriptedSession.begin(order, emit, leave);
    if (session === undefined) return leave(1);
    void session.start();
  }
}

await main();
