/**
 * An MCP server over stdio for an agent: passes each message on to the member door, and its answer back. Runs inside the sandbox,
 * as long as its stdin is open. Only Node's own modules.
 *
 *   argv: the file that holds the door's `{url, token}`
 */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';

const door: unknown = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'));
const url = fieldOf(door, 'url');
const authorization = `Bearer ${fieldOf(door, 'token')}`;
// its own: the one of all would go through a proxy where the environment names one
const agent = new Agent({ keepAlive: true });

function fieldOf(value: unknown, name: string): string {
  const field: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
  if (typeof field !== 'string') throw new Error(`the file of the door has no ${name}`);
  return field;
}

/** The door's answer to a message; empty for one that asks nothing. */
function pass(message: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const headers = { authorization, accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
  const asked = request(url, { method: 'POST', agent, headers }, (answer) => {
    text(answer).then(answer.statusCode === 202 ? () => resolve('') : resolve, reject);
  });
  asked.once('error', reject);
  asked.end(message);
  return promise;
}

/** Undefined: a notification, to which nobody waits for an answer. */
function idOf(message: string): string | number | undefined {
  try {
    const content: unknown = JSON.parse(message);
    const id: unknown = typeof content === 'object' && content !== null ? Reflect.get(content, 'id') : undefined;
    return typeof id === 'string' || typeof id === 'number' ? id : undefined;
  } catch {
    return undefined;
  }
}

async function relay(message: string): Promise<void> {
  const id = idOf(message);
  const gone = { jsonrpc: '2.0', id, error: { code: -32_000, message: 'The member door does not answer.' } };
  const answer = await pass(message).catch(() => JSON.stringify(gone));
  if (id !== undefined && answer !== '') process.stdout.write(`${answer.trim()}\n`);
}

// Not node:readline: to that a U+2028 inside a text ends a line, too.
let rest = '';
process.stdin.setEncoding('utf8').on('data', (chunk: string) => {
  const messages = (rest + chunk).split('\n');
  rest = messages.pop() ?? '';
  for (const message of messages) if (message.trim() !== '') void relay(message);
});
process.stdin.once('end', () => process.exit(0));
