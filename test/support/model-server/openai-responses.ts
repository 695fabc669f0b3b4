import { z } from 'zod';
import { piecesOf, type StreamEvent } from './event-stream.js';
import type { ModelApi, Rendered } from './model-api.js';
import type { AnswerTurn, ToolCall } from './script.js';

const Body = z.looseObject({
  model: z.string(),
  tools: z.array(z.unknown()).optional(),
  prompt_cache_key: z.string().optional(),
});

/** `POST /v1/responses` of OpenAI, streamed. */
export const openaiResponses: ModelApi = {
  sessionOf: (body, headers) => {
    const session = headers.session_id ?? headers['session-id'] ?? headers.conversation_id;
    return typeof session === 'string' ? session : Body.safeParse(body).data?.prompt_cache_key;
  },
  isAgent: (body) => (Body.safeParse(body).data?.tools?.length ?? 0) > 0,
  render,
  errorBody: (status) => ({
    error: {
      message: `The scripted model answers ${status}.`,
      type: errorTypes.get(status) ?? 'server_error',
      code: errorTypes.get(status) ?? null,
    },
  }),
};

const errorTypes = new Map([
  [400, 'invalid_request_error'],
  [401, 'invalid_api_key'],
  [429, 'rate_limit_exceeded'],
]);

function render(turn: AnswerTurn, id: string, body: unknown): Rendered {
  const response = { id: `resp_${id}`, object: 'response', model: Body.safeParse(body).data?.model ?? 'scripted' };
  const first: StreamEvent[] = [event('response.created', { response: { ...response, status: 'in_progress' } })];
  const second: StreamEvent[] = [];
  const output: object[] = [];
  if (turn.text !== undefined) {
    const item = { type: 'message', id: `msg_${id}`, role: 'assistant' };
    const [before, after] = piecesOf(turn.text);
    const place = { item_id: item.id, output_index: 0, content_index: 0 };
    const delta = (text: string) => event('response.output_text.delta', { ...place, delta: text });
    first.push(
      event('response.output_item.added', { output_index: 0, item: { ...item, status: 'in_progress', content: [] } }),
      ...before.map(delta),
    );
    const whole = {
      ...item,
      status: 'completed',
      content: [{ type: 'output_text', text: turn.text, annotations: [] }],
    };
    second.push(...after.map(delta), event('response.output_item.done', { output_index: 0, item: whole }));
    output.push(whole);
  }
  for (const [number, tool] of turn.tools.entries()) {
    const item = callItem(tool, `${id}_${number}`);
    second.push(event('response.output_item.done', { output_index: output.length, item }));
    output.push(item);
  }
  const usage = {
    input_tokens: turn.input_tokens + turn.cached_tokens,
    input_tokens_details: { cached_tokens: turn.cached_tokens },
    output_tokens: turn.output_tokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: turn.input_tokens + turn.cached_tokens + turn.output_tokens,
  };
  second.push(event('response.completed', { response: { ...response, status: 'completed', output, usage } }));
  return { first, second };
}

function callItem(tool: ToolCall, id: string): object {
  const { name, namespace } =
    'member' in tool ? { name: tool.member, namespace: 'mcp__longshore' } : { namespace: undefined, ...tool };
  return {
    ...{ type: 'function_call', id: `fc_${id}`, call_id: `call_${id}`, status: 'completed', name },
    ...(namespace === undefined ? {} : { namespace }),
    arguments: JSON.stringify(tool.input),
  };
}

const event = (type: string, data: object): StreamEvent => ({ event: type, data: { type, ...data } });
