import { z } from 'zod';

const Tokens = z.looseObject({
  input_tokens: z.int().min(0).default(0),
  cache_creation_input_tokens: z.int().min(0).nullish(),
  cache_read_input_tokens: z.int().min(0).nullish(),
  output_tokens: z.int().min(0).default(0),
});
export type ClaudeTokens = z.output<typeof Tokens>;

const TextBlock = z.looseObject({ type: z.literal('text'), text: z.string() });
const ToolUse = z.looseObject({ type: z.literal('tool_use'), id: z.string(), name: z.string(), input: z.unknown() });
const ToolResult = z.looseObject({
  type: z.literal('tool_result'),
  tool_use_id: z.string(),
  content: z.union([z.string(), z.array(z.unknown())]).optional(),
  is_error: z.boolean().nullish(),
});

/** A block of another type (thinking, images) is none of our events. */
const blockOf = <Known extends z.ZodType>(known: Known) => z.array(z.union([known, z.unknown().transform(() => null)]));

const Assistant = z.looseObject({
  type: z.literal('assistant'),
  message: z.looseObject({
    model: z.string(),
    content: blockOf(z.discriminatedUnion('type', [TextBlock, ToolUse])),
  }),
  parent_tool_use_id: z.string().nullish(),
});

const User = z.looseObject({
  type: z.literal('user'),
  uuid: z.string().optional(),
  /** The echo of a message that was sent in: from here on the model has it. */
  isReplay: z.boolean().optional(),
  message: z.looseObject({ content: z.union([z.string(), blockOf(ToolResult)]) }),
});

const System = z.looseObject({
  type: z.literal('system'),
  subtype: z.string(),
  session_id: z.string().optional(),
  model: z.string().optional(),
  mcp_servers: z.array(z.looseObject({ name: z.string(), status: z.string() })).optional(),
  /** `api_retry` */
  attempt: z.int().optional(),
  error: z.string().optional(),
});

const Stream = z.looseObject({
  type: z.literal('stream_event'),
  event: z.union([
    z.looseObject({
      type: z.literal('message_start'),
      message: z.looseObject({ model: z.string(), usage: Tokens }),
    }),
    z.looseObject({ type: z.literal('message_delta'), usage: Tokens }),
    z.looseObject({ type: z.literal('message_stop') }),
    z.looseObject({ type: z.string() }).transform(() => null),
  ]),
});

const Result = z.looseObject({
  type: z.literal('result'),
  subtype: z.string(),
  is_error: z.boolean(),
  api_error_status: z.int().nullish(),
  result: z.string().optional(),
  errors: z.array(z.string()).optional(),
  terminal_reason: z.string().nullish(),
  /** Both are sums over the session, also over its earlier processes. */
  total_cost_usd: z.number().min(0).optional(),
  modelUsage: z
    .record(
      z.string(),
      z.looseObject({
        inputTokens: z.int().min(0),
        outputTokens: z.int().min(0),
        cacheReadInputTokens: z.int().min(0).default(0),
        cacheCreationInputTokens: z.int().min(0).default(0),
      }),
    )
    .optional(),
});
export type ClaudeResult = z.output<typeof Result>;

const RateLimit = z.looseObject({
  type: z.literal('rate_limit_event'),
  /** `resetsAt` is a time in seconds. */
  rate_limit_info: z.looseObject({ status: z.string(), resetsAt: z.number().optional() }),
});

const ControlResponse = z.looseObject({
  type: z.literal('control_response'),
  response: z.looseObject({ subtype: z.string(), request_id: z.string() }),
});

const ControlRequest = z.looseObject({ type: z.literal('control_request'), request_id: z.string() });

/** What Claude Code writes with `--output-format stream-json --verbose`, as far as we read it. */
const ClaudeLine = z.discriminatedUnion('type', [
  Assistant,
  User,
  System,
  Stream,
  Result,
  RateLimit,
  ControlResponse,
  ControlRequest,
]);
export type ClaudeLine = z.output<typeof ClaudeLine>;

/** What is no line of the protocol (a stray print, a type of a later version) is undefined. */
export function parseClaudeLine(line: string): ClaudeLine | undefined {
  if (!line.startsWith('{') || isDelta(line)) return undefined;
  try {
    const content: unknown = JSON.parse(line);
    return ClaudeLine.safeParse(content).data;
  } catch {
    return undefined;
  }
}

/** The pieces of an answer are many and say nothing that the whole block does not; quotes within strings are escaped. */
function isDelta(line: string): boolean {
  return line.includes('"type":"stream_event"') && line.includes('"type":"content_block_');
}
