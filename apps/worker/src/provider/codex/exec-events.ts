import { z } from 'zod';
import { limits } from '#contracts';
import { cutText, type ProviderEvent, type ProviderFailure } from '../events.js';
import { failureOfTurn } from './codex-failure.js';

const words = z.string().catch('');
const tokens = z.int().min(0).catch(0);

/** Lines of `codex exec --json`. */
const ExecLine = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('thread.started'), thread_id: z.string().min(1) }),
  z.looseObject({ type: z.enum(['item.started', 'item.completed']), item: z.looseObject({ type: z.string() }) }),
  z.looseObject({
    type: z.literal('turn.completed'),
    usage: z.looseObject({ input_tokens: tokens, cached_input_tokens: tokens, output_tokens: tokens }),
  }),
  z.looseObject({ type: z.literal('turn.failed'), error: z.looseObject({ message: words }) }),
]);
type ExecLine = z.output<typeof ExecLine>;

export function parseExecLine(line: string): ExecLine | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const content: unknown = JSON.parse(line);
    return ExecLine.safeParse(content).data;
  } catch {
    return undefined;
  }
}

const Item = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('agent_message'), text: words }),
  z.looseObject({
    type: z.literal('command_execution'),
    command: words,
    aggregated_output: words,
    exit_code: z.int().nullish(),
    status: words,
  }),
  z.looseObject({
    type: z.literal('file_change'),
    changes: z.array(z.looseObject({ path: words })).catch([]),
    status: words,
  }),
  z.looseObject({
    type: z.literal('mcp_tool_call'),
    server: words,
    tool: words,
    arguments: z.unknown(),
    result: z.unknown(),
    error: z.looseObject({ message: words }).nullish(),
    status: words,
  }),
]);

/** What an item of `exec` comes to. */
export function eventOfExecItem(type: 'item.started' | 'item.completed', content: unknown): ProviderEvent | undefined {
  const item = Item.safeParse(content).data;
  if (item === undefined) return undefined;
  if (item.type === 'agent_message') {
    return type === 'item.completed' ? { type: 'message', text: cutText(item.text) } : undefined;
  }
  const { name, input, output } = toolOf(item);
  if (type === 'item.started') return { type: 'tool_call', name, input: cutText(input) };
  return { type: 'tool_result', name, ok: item.status === 'completed', text: cutText(output) };
}

type Tool = Exclude<z.output<typeof Item>, { type: 'agent_message' }>;

function toolOf(item: Tool): { readonly name: string; readonly input: string; readonly output: string } {
  switch (item.type) {
    case 'command_execution':
      return { name: 'shell', input: item.command, output: item.aggregated_output };
    case 'file_change': {
      const paths = item.changes.map(({ path }) => path).join('\n');
      return { name: 'apply_patch', input: paths, output: paths };
    }
    case 'mcp_tool_call':
      return {
        name: `${item.server}.${item.tool}`.slice(0, 256),
        input: JSON.stringify(item.arguments) ?? '',
        output: item.error?.message ?? JSON.stringify(item.result) ?? '',
      };
  }
}

/**
 * Why a turn of `exec` failed: it has only words, which are looked at and not passed on. The order counts: the words of a limit
 * may hold a status, too.
 */
export function failureOfExec(words: string): ProviderFailure {
  const status = /unexpected status (\d{3})|last status: (\d{3})/.exec(words);
  const httpStatusCode = Number(status?.[1] ?? status?.[2]) || null;
  return failureOfTurn({ message: '', codexErrorInfo: codeOf(words, httpStatusCode) }, { now: 0 });
}

function codeOf(words: string, httpStatusCode: number | null): string | Record<string, unknown> {
  if (/usage limit|quota exceeded/i.test(words)) return 'usageLimitExceeded';
  if (httpStatusCode !== null) return { httpConnectionFailed: { httpStatusCode } };
  if (/rate limit/i.test(words)) return 'rateLimitExceeded';
  if (/at capacity|high demand/i.test(words)) return 'serverOverloaded';
  if (/stream disconnected|connection failed|error sending request/i.test(words)) {
    return { responseStreamDisconnected: { httpStatusCode } };
  }
  if (/context window/i.test(words)) return 'contextWindowExceeded';
  return 'other';
}

/** Tokens of a thread, from its start. */
export interface Counted {
  readonly input_tokens: number;
  readonly cached_input_tokens: number;
  readonly output_tokens: number;
}

/** What the last turn used. Its requests to the model are not told apart. */
export function usageOfExec(total: Counted, before: Counted, model: string | undefined): ProviderEvent {
  const since = (name: keyof Counted) => Math.max(0, total[name] - before[name]);
  return {
    type: 'usage',
    requests: 1,
    input_tokens: since('input_tokens'),
    output_tokens: since('output_tokens'),
    cache_read_tokens: since('cached_input_tokens'),
    ...(model === undefined ? {} : { model: model.slice(0, limits.modelChars) }),
  };
}
