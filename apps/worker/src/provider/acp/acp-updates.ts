import type { SessionUpdate, ToolCallContent } from '@agentclientprotocol/sdk';
import { cutText, type ProviderEvent } from '../events.js';

/** Session updates of an agent as events: pieces of a message become one, a tool's updates its call and its result. */
export class AcpUpdates {
  private words = '';
  private readonly tools = new Map<string, string>();
  private costSoFar = 0;
  private costToTell = 0;

  /** Events of one update, in order. */
  read(update: SessionUpdate): readonly ProviderEvent[] {
    switch (update.sessionUpdate) {
      case 'agent_message_chunk':
        // held up to what an event may hold, whatever the agent sends
        if (update.content.type === 'text' && this.words.length < mostChars) this.words += update.content.text;
        return [];
      case 'tool_call':
        return [...this.flush(), this.begin(update.toolCallId, update), ...this.end(update.toolCallId, update)];
      case 'tool_call_update':
        return [...this.flush(), ...this.end(update.toolCallId, update)];
      case 'usage_update':
        this.count(update.cost);
        return [];
      default:
        return [];
    }
  }

  /** What was said since the last event. */
  flush(): readonly ProviderEvent[] {
    const { words } = this;
    this.words = '';
    return words.trim() === '' ? [] : [{ type: 'message', text: cutText(words) }];
  }

  /** What the turn cost, as far as the agent said so in dollars. */
  takeCost(): number | undefined {
    const cost = this.costToTell;
    this.costToTell = 0;
    return cost > 0 ? cost : undefined;
  }

  private begin(
    id: string,
    { name, title, rawInput }: { name?: string | null; title: string; rawInput?: unknown },
  ): ProviderEvent {
    const called = (name ?? title).slice(0, 256);
    this.tools.set(id, called);
    const input = rawInput === undefined ? '{}' : (JSON.stringify(rawInput) ?? '{}');
    // some agents begin with an empty input and tell it later
    return { type: 'tool_call', name: called, input: cutText(input === '{}' ? title : input) };
  }

  private end(id: string, { status, content, rawOutput }: ToolEnd): readonly ProviderEvent[] {
    const name = this.tools.get(id);
    if (name === undefined || (status !== 'completed' && status !== 'failed')) return [];
    this.tools.delete(id);
    const said = (content ?? []).map(textOf).join('\n');
    const text = said === '' && rawOutput !== undefined ? JSON.stringify(rawOutput) : said;
    return [{ type: 'tool_result', name, ok: status === 'completed', text: cutText(text ?? '') }];
  }

  /** The cost of the session so far. */
  private count(cost: { amount: number; currency: string } | null | undefined): void {
    if (cost === null || cost === undefined || cost.currency !== 'USD' || cost.amount <= this.costSoFar) return;
    this.costToTell += cost.amount - this.costSoFar;
    this.costSoFar = cost.amount;
  }
}

interface ToolEnd {
  readonly status?: string | null;
  readonly content?: readonly ToolCallContent[] | null;
  readonly rawOutput?: unknown;
}

const mostChars = 64 * 1024;

function textOf(part: ToolCallContent): string {
  if (part.type === 'diff') return part.path;
  return part.type === 'content' && part.content.type === 'text' ? part.content.text : '';
}
