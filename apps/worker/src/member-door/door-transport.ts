import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage, JSONRPCRequest } from '@modelcontextprotocol/sdk/types.js';

/**
 * Lets one MCP server answer requests that come each for itself: a door has no sessions, and a server per request costs more than
 * the call. Callers count their ids each from the same number, so the server sees ids of ours. What it says of its own accord
 * reaches nobody.
 */
export class DoorTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  private readonly waiting = new Map<string | number, (answer: JSONRPCMessage) => void>();
  private asked = 0;

  async start(): Promise<void> {}

  async send(message: JSONRPCMessage): Promise<void> {
    if ('method' in message || message.id === undefined) return;
    this.waiting.get(message.id)?.(message);
    this.waiting.delete(message.id);
  }

  /** Who waits is not answered any more: its connection ends with the door. */
  async close(): Promise<void> {
    this.waiting.clear();
    this.onclose?.();
  }

  /** The server's answer, under the caller's own id. */
  ask(request: JSONRPCRequest): Promise<JSONRPCMessage> {
    this.asked += 1;
    const id = this.asked;
    return new Promise((resolve) => {
      this.waiting.set(id, (answer) => resolve({ ...answer, id: request.id }));
      this.onmessage?.({ ...request, id });
    });
  }
}
