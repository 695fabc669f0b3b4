import { z } from 'zod';
import { cutText, type ProviderEvent } from '../events.js';

const words = z.string().catch('');
const Message = z.looseObject({ type: z.literal('agentMessage'), text: words });
const Command = z.looseObject({
  type: z.literal('commandExecution'),
  command: words,
  aggregatedOutput: z.string().nullish(),
  exitCode: z.int().nullish(),
  status: words,
});
const FileChange = z.looseObject({
  type: z.literal('fileChange'),
  status: words,
  changes: z.array(z.looseObject({ path: words })).catch([]),
});
const McpCall = z.looseObject({
  type: z.literal('mcpToolCall'),
  server: words,
  tool: words,
  arguments: z.unknown(),
  status: words,
  result: z.looseObject({ content: z.array(z.unknown()).catch([]) }).nullish(),
  error: z.looseObject({ message: words }).nullish(),
});
const Item = z.discriminatedUnion('type', [Message, Command, FileChange, McpCall]);
type Item = z.output<typeof Item>;

/** What an item comes to when it begins; most say nothing yet. */
export function eventOfStarted(content: unknown): ProviderEvent | undefined {
  const item = Item.safeParse(content).data;
  if (item === undefined || item.type === 'agentMessage') return undefined;
  return { type: 'tool_call', name: nameOf(item), input: cutText(inputOf(item)) };
}

/** What an item comes to when it is complete. Kinds that we do not know are none of ours. */
export function eventOfCompleted(content: unknown): ProviderEvent | undefined {
  const item = Item.safeParse(content).data;
  if (item === undefined) return undefined;
  if (item.type === 'agentMessage') return { type: 'message', text: cutText(item.text) };
  return { type: 'tool_result', name: nameOf(item), ok: isDone(item), text: cutText(outputOf(item)) };
}

type Tool = Exclude<Item, { type: 'agentMessage' }>;

function nameOf(item: Tool): string {
  switch (item.type) {
    case 'commandExecution':
      return 'shell';
    case 'fileChange':
      return 'apply_patch';
    case 'mcpToolCall':
      return `${item.server}.${item.tool}`.slice(0, 256);
  }
}

function inputOf(item: Tool): string {
  switch (item.type) {
    case 'commandExecution':
      return item.command;
    case 'fileChange':
      return item.changes.map(({ path }) => path).join('\n');
    case 'mcpToolCall':
      return JSON.stringify(item.arguments) ?? '';
  }
}

function outputOf(item: Tool): string {
  switch (item.type) {
    case 'commandExecution':
      return item.aggregatedOutput ?? '';
    case 'fileChange':
      return inputOf(item);
    case 'mcpToolCall':
      return item.error?.message ?? (item.result?.content ?? []).map(textOf).join('\n');
  }
}

/** A background command has no exit code yet. */
function isDone(item: Tool): boolean {
  return item.status === 'completed' && (item.type !== 'commandExecution' || (item.exitCode ?? 0) === 0);
}

function textOf(part: unknown): string {
  return typeof part === 'object' && part !== null && 'text' in part ? String(part.text) : '';
}
