import { z } from 'zod';
import { piecesOf, type StreamEvent } from './event-stream.js';
import type { ModelApi, Rendered } from './model-api.js';
import type { AnswerTurn, ToolCall } from './script.js';

const Body = z.looseObject({
  model: z.string(),
  tools: z.array(z.looseObject({ name: z.string() })).optional(),
  metadata: z.looseObject({ user_id: z.string() }).optional(),
});

/** `POST /v1/messages` of Anthropic, streamed. */
export const anthropicMessages: ModelApi = {
  sessionOf: (body, headers) => {
    const session = headers['x-claude-code-session-id'];
    if (typeof session === 'string') return session;
    return Body.safeParse(body).data?.metadata?.user_id;
  },
  isAgent: (body) => (Body.safeParse(body).data?.tools?.length ?? 0) > 0,
  render,
  errorBody: (status) => ({
    type: 'error',
    error: { type: errorTypes.get(status) ?? 'api_error', message: `The scripted model answers ${status}.` },
  }),
};

const errorTypes = new Map([
  [400, 'invalid_request_error'],
  [401, 'authentication_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [529, 'overloaded_error'],
]);

function render(turn: AnswerTurn, id: string, body: unknown): Rendered {
  const model = Body.safeParse(body).data?.model ?? 'scripted';
  const usage = {
    input_tokens: turn.input_tokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: turn.cached_tokens,
    output_tokens: 1,
  };
  const message = {
    ...{ id: `msg_${id}`, type: 'message', role: 'assistant', model, content: [] },
    ...{ stop_reason: null, stop_sequence: null, usage },
  };
  const first: StreamEvent[] = [event('message_start', { message })];
  const second: StreamEvent[] = [];
  let index = 0;
  if (turn.text !== undefined) {
    const [before, after] = piecesOf(turn.text);
    const delta = (text: string) => event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } });
    first.push(
      event('content_block_start', { index, content_block: { type: 'text', text: '' } }),
      ...before.map(delta),
    );
    second.push(...after.map(delta), event('content_block_stop', { index }));
    index += 1;
  }
  for (const [number, tool] of turn.tools.entries()) {
    second.push(...callEvents(tool, `toolu_${id}_${number}`, index));
    index += 1;
  }
  const stop_reason = turn.tools.length > 0 ? 'tool_use' : 'end_turn';
  second.push(
    event('message_delta', {
      delta: { stop_reason, stop_sequence: null },
      usage: { ...usage, output_tokens: turn.output_tokens },
    }),
    event('message_stop', {}),
  );
  return { first, second };
}

function callEvents(tool: ToolCall, id: string, index: number): readonly StreamEvent[] {
  const name = 'member' in tool ? `mcp__longshore__${tool.member}` : tool.name;
  return [
    event('content_block_start', { index, content_block: { type: 'tool_use', id, name, input: {} } }),
    event('content_block_delta', {
      index,
      delta: { type: 'input_json_delta', partial_json: JSON.stringify(tool.input) },
    }),
    event('content_block_stop', { index }),
  ];
}

const event = (type: string, data: object): StreamEvent => ({ event: type, data: { type, ...data } });
