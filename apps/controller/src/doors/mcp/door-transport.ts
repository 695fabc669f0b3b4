import { type JSONRPCMessage, type JSONRPCRequest, PerRequestHTTPServerTransport } from '@modelcontextprotocol/server';
import { type Era, revisions } from './era.js';
import { type ErrorBody, errorBody, type MessageId, notAvailable, rpc } from './json-rpc.js';

/** What the protocol answers: a result as it is, an error in a door's own words. */
export type RpcAnswer = { readonly jsonrpc: '2.0'; readonly id: MessageId; readonly result: unknown } | ErrorBody;

/**
 * Lets one server answer requests that come each for itself: a door has no sessions, and a server per request costs more than the
 * call. Callers count their ids each from the same number, so the server sees ids of ours, under which its handlers find what was
 * asked. It is of the SDK's class since a server takes its era from that.
 */
export class DoorTransport<Asked> extends PerRequestHTTPServerTransport {
  private readonly open = new Map<
    MessageId,
    { readonly asked: Asked; readonly answer: (answer: JSONRPCMessage) => void }
  >();
  private count = 0;

  constructor(era: Era) {
    const [revision = ''] = revisions[era];
    super({ classification: era === 'self_contained' ? { era: 'modern', revision } : { era: 'legacy' } });
  }

  /** What stands behind a request that a handler sees. */
  asked(id: MessageId): Asked {
    const found = this.open.get(id);
    if (!found) throw new TypeError('a request that was not asked here');
    return found.asked;
  }

  /** The server's answer, under the caller's own id. */
  async ask(request: JSONRPCRequest, asked: Asked): Promise<RpcAnswer> {
    this.count += 1;
    const id = this.count;
    try {
      const answer = await new Promise<JSONRPCMessage>((resolve) => {
        this.open.set(id, { asked, answer: resolve });
        this.onmessage?.({ ...request, id });
      });
      return ownAnswer(answer, request.id);
    } finally {
      this.open.delete(id);
    }
  }

  override async send(message: JSONRPCMessage): Promise<void> {
    if ('method' in message || message.id === undefined) return;
    this.open.get(message.id)?.answer(message);
  }
}

function ownAnswer(message: JSONRPCMessage, id: MessageId): RpcAnswer {
  if ('result' in message) return { jsonrpc: '2.0', id, result: message.result };
  if (!('error' in message)) return errorBody(id, rpc.internalError);
  const { code, message: words } = message.error;
  const body = errorBody(id, code);
  return words === notAvailable ? { ...body, error: { code, message: notAvailable } } : body;
}
