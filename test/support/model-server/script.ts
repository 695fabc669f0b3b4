import { z } from 'zod';

/** What the model asks its client to call: a tool of the client by its own name, or a member operation by ours. */
const ToolCall = z.union([
  z.strictObject({
    name: z.string().min(1),
    /** OpenAI only: tools of an MCP server reach the model as one namespace. */
    namespace: z.string().min(1).optional(),
    input: z.record(z.string(), z.unknown()).default({}),
  }),
  z.strictObject({
    /** `checkpoint`: sent as `mcp__longshore__checkpoint`, to OpenAI's clients with the namespace `mcp__longshore`. */
    member: z.string().min(1),
    input: z.record(z.string(), z.unknown()).default({}),
  }),
]);
export type ToolCall = z.output<typeof ToolCall>;

const Answer = z.strictObject({
  kind: z.literal('answer'),
  text: z.string().optional(),
  tools: z.array(ToolCall).default([]),
  input_tokens: z.int().min(0).default(100),
  cached_tokens: z.int().min(0).default(0),
  output_tokens: z.int().min(0).default(10),
  /** Nothing is sent before this gate is released. */
  before: z.string().min(1).optional(),
  /** The stream begins, half of the text goes out, and then it waits for this gate. */
  midway: z.string().min(1).optional(),
});

/** What the model does at one request. */
const Turn = z.discriminatedUnion('kind', [
  Answer,
  z.strictObject({
    kind: z.literal('error'),
    status: z.int().min(400).max(599),
    /** `retry-after`, seconds. */
    retry_after: z.int().min(0).optional(),
    headers: z.record(z.string(), z.string()).default({}),
    /** Instead of the body that the provider sends with such a status. */
    body: z.unknown().optional(),
  }),
  /** The stream begins and the connection breaks off in the middle of it. */
  z.strictObject({ kind: z.literal('cut'), text: z.string().default('I was about to say') }),
]);
export type Turn = z.output<typeof Turn>;
export type AnswerTurn = z.output<typeof Answer>;

/** Each session of a client plays its own list, one turn per request; the last list serves all further sessions, too. */
export const Script = z.strictObject({
  sessions: z.array(z.array(Turn)).min(1),
  /** When a session has played all its turns. */
  afterwards: Turn.prefault({ kind: 'answer', text: 'I have nothing more to do.' }),
});
export type Script = z.output<typeof Script>;
export type ScriptInput = z.input<typeof Script>;

type AnswerInput = Omit<z.input<typeof Answer>, 'kind'>;

/** Says something, perhaps after or in the middle of a wait. */
export const says = (text: string, more: AnswerInput = {}): z.input<typeof Answer> => ({
  kind: 'answer',
  text,
  ...more,
});

/** Calls tools. */
export const calls = (...tools: z.input<typeof ToolCall>[]): z.input<typeof Answer> => ({ kind: 'answer', tools });

/** Hands over green. */
export const handsOver = (summary: string, more: object = {}): z.input<typeof Answer> =>
  calls({ member: 'checkpoint', input: { summary, outcome: 'green', ...more } });

/** Answers with an error. */
export const fails = (status: number, more: Omit<z.input<typeof Turn> & { kind: 'error' }, 'kind' | 'status'> = {}) =>
  ({ kind: 'error', status, ...more }) satisfies z.input<typeof Turn>;

/** Stands in a prompt and names the script that the model plays for it. */
export const scriptMark = (name: string): string => `[[model-script:${name}]]`;

/** The script that a request names; its first mark counts. */
export const markIn = (text: string): string | undefined => /\[\[model-script:([\w-]+)\]\]/.exec(text)?.[1];
