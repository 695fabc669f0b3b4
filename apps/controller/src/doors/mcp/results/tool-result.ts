import type { CallToolResult } from '@modelcontextprotocol/server';
import type { FarmError } from '#contracts';
import { cutText } from './cut-text.js';
import { Fence } from './fence.js';
import { everyText, type Walk } from './outside-strings.js';

interface Shaping {
  /** To the operation's outside strings; nothing where it has none. */
  readonly walk: Walk | undefined;
  /** Bytes of the text block at most (A8.1). */
  readonly mostBytes: number;
}

/** What an operation answered, as a tool's result: fenced in the text and in the structured content (A8.5, A8.6). */
export function resultOf(output: unknown, { walk, mostBytes }: Shaping): CallToolResult {
  const fence = new Fence();
  const result = walk ? walk(output, (text) => fence.around(text)) : output;
  return told({ kind: 'result', result }, fence, mostBytes);
}

interface Refusing {
  readonly mostBytes: number;
  /** What the call would do is said by a plugin, in words from outside (A11.7). */
  readonly isPlugins?: boolean;
}

/** A refusal that says what the call would do is a result like any other; every other refusal is an error of the tool. */
export function refusalOf(error: FarmError, { mostBytes, isPlugins = false }: Refusing): CallToolResult {
  const fence = new Fence();
  if (error.code === 'confirmation_required') {
    const { summary: said = error.detail, changes = [], count = changes.length, ...rest } = error.proposal ?? {};
    const summary = isPlugins ? fence.around(said) : said;
    const fenced = everyText(changes, (text) => fence.around(text));
    return told({ kind: 'proposal', proposal: { summary, changes: fenced, count, ...rest } }, fence, mostBytes);
  }
  const { code, detail, hint, fields, receipt, retryAfterMs } = error;
  const refusal = {
    kind: 'error',
    code,
    detail,
    ...(hint !== undefined && { hint }),
    ...(fields && { fields }),
    ...(receipt && {
      receipt: { ...receipt, result: everyText(receipt.result, (text) => fence.around(text)) },
    }),
    ...(retryAfterMs !== undefined && { retry_after_ms: retryAfterMs }),
  };
  return { ...told(refusal, fence, mostBytes), isError: true };
}

type Envelope = { readonly kind: string } & Readonly<Record<string, unknown>>;

function told({ kind, ...members }: Envelope, fence: Fence, mostBytes: number): CallToolResult {
  const { notice } = fence;
  const envelope = { kind, ...(notice !== undefined && { notice }), ...members };
  const text = JSON.stringify(envelope);
  const bytes = Buffer.byteLength(text);
  if (bytes > mostBytes) return cut(text, bytes, fence, mostBytes);
  return { content: [{ type: 'text', text }], structuredContent: envelope };
}

/** Half of a result, which says so and can not be read as a whole one (A8.3); its last fence is closed (A8.7). */
function cut(whole: string, total_bytes: number, fence: Fence, mostBytes: number): CallToolResult {
  const { notice } = fence;
  const about = (kept: number) =>
    [
      `This result was cut: the first ${kept} of its ${total_bytes} bytes follow, which are no whole JSON. Ask for less.`,
      ...(notice === undefined ? [] : [notice]),
      '',
    ].join('\n');
  const room = mostBytes - Buffer.byteLength(about(total_bytes)) - fence.closing.length - 1;
  const { kept, end } = fence.mend(cutText(whole, room));
  const kept_bytes = Buffer.byteLength(kept);
  const text = kept + end;
  return {
    content: [{ type: 'text', text: about(kept_bytes) + text }],
    structuredContent: { kind: 'cut', ...(notice !== undefined && { notice }), text, kept_bytes, total_bytes },
  };
}
