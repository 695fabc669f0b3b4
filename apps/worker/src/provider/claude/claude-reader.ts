import { cutText, type ProviderEvent, type ProviderFailure } from '../events.js';
import { authFailure, doorFailure, failureOfResult } from './claude-failure.js';
import { type ClaudeLine, type ClaudeResult, parseClaudeLine } from './claude-lines.js';
import { ClaudeUsage } from './claude-usage.js';

/** What a line says to the adapter and not to the worker. */
export type ClaudeSign =
  /** It has begun to read: its files are read, its turn runs. */
  | { readonly type: 'begun'; readonly ref: string }
  /** A message that we sent is in the model's context now. */
  | { readonly type: 'taken'; readonly uuid: string }
  | { readonly type: 'answered'; readonly request: string; readonly ok: boolean }
  /** It asks us something; whatever it is, we have no answer. */
  | { readonly type: 'asks'; readonly request: string }
  | { readonly type: 'turn_over' };

export interface ClaudeReading {
  readonly events: readonly ProviderEvent[];
  readonly sign?: ClaudeSign;
}

interface ReaderNeeds {
  readonly resumed: boolean;
  /** Removes what nobody may read. */
  scrub(text: string): string;
  /** Whether the end of the turn was asked for. */
  interrupted(): boolean;
  /** Whether messages wait that begin the next turn by themselves. */
  goesOn(): boolean;
  now(): number;
}

const memberPrefix = 'mcp__longshore__';
const toolsRemembered = 1_000;
const nothing: ClaudeReading = { events: [] };

/** Turns the lines of one Claude Code process into events. */
export class ClaudeReader {
  private readonly usage: ClaudeUsage;
  private readonly tools = new Map<string, string>();
  private ref: string | undefined;
  private accepted = false;
  private resetsAt: number | undefined;

  constructor(private readonly needs: ReaderNeeds) {
    this.usage = new ClaudeUsage(needs.resumed);
  }

  read(text: string): ClaudeReading {
    const line = parseClaudeLine(text);
    return line === undefined ? nothing : this.take(line);
  }

  /** What is still to be told when the process is gone. */
  rest(): readonly ProviderEvent[] {
    return this.usage.rest();
  }

  private take(line: ClaudeLine): ClaudeReading {
    switch (line.type) {
      case 'system':
        return this.takeSystem(line);
      case 'stream_event':
        return { events: this.takeStream(line.event) };
      case 'assistant':
        return { events: this.takeAnswer(line) };
      case 'user':
        return this.takeUser(line);
      case 'rate_limit_event':
        if (line.rate_limit_info.status === 'rejected' && line.rate_limit_info.resetsAt !== undefined)
          this.resetsAt = line.rate_limit_info.resetsAt * 1_000;
        return nothing;
      case 'result':
        return { events: this.takeResult(line), sign: { type: 'turn_over' } };
      case 'control_response':
        return {
          events: [],
          sign: {
            type: 'answered',
            request: line.response.request_id,
            ok: line.response.subtype === 'success',
          },
        };
      case 'control_request':
        return { events: [], sign: { type: 'asks', request: line.request_id } };
    }
  }

  private takeSystem(line: Extract<ClaudeLine, { type: 'system' }>): ClaudeReading {
    if (line.subtype === 'init') {
      this.ref = line.session_id;
      const door = line.mcp_servers?.find(({ name }) => name === 'longshore');
      const events = door?.status === 'failed' ? [failed(doorFailure)] : [];
      return this.ref === undefined ? { events } : { events, sign: { type: 'begun', ref: this.ref } };
    }
    // it tries ten times, over minutes; a login does not come back by itself
    if (line.subtype === 'api_retry' && line.error === 'authentication_failed' && (line.attempt ?? 0) >= 2)
      return { events: [failed(authFailure)] };
    return nothing;
  }

  private takeStream(event: Extract<ClaudeLine, { type: 'stream_event' }>['event']): readonly ProviderEvent[] {
    if (event === null) return [];
    if (event.type === 'message_delta') this.usage.countRequest(event.usage);
    if (event.type === 'message_stop') return known(this.usage.endRequest());
    if (event.type !== 'message_start') return [];
    return [...this.accept(), ...known(this.usage.beginRequest(event.message.model, event.message.usage))];
  }

  private takeAnswer({ message }: Extract<ClaudeLine, { type: 'assistant' }>): readonly ProviderEvent[] {
    // not the model: its own words about an error, which its result tells in a code
    if (message.model === '<synthetic>') return [];
    const events: ProviderEvent[] = [...this.accept()];
    for (const block of message.content) {
      if (block?.type === 'text') events.push({ type: 'message', text: this.textOf(block.text) });
      if (block?.type === 'tool_use') {
        const name = nameOf(block.name);
        this.remember(block.id, name);
        events.push({ type: 'tool_call', name, input: this.textOf(JSON.stringify(block.input) ?? '') });
      }
    }
    return events;
  }

  private takeUser({ message, isReplay, uuid }: Extract<ClaudeLine, { type: 'user' }>): ClaudeReading {
    if (isReplay === true && uuid !== undefined) return { events: [], sign: { type: 'taken', uuid } };
    if (typeof message.content === 'string') return nothing;
    const events: ProviderEvent[] = [];
    for (const block of message.content) {
      if (block === null) continue;
      const name = this.tools.get(block.tool_use_id) ?? 'unknown';
      const text = this.textOf(wordsOf(block.content));
      events.push({ type: 'tool_result', name, ok: block.is_error !== true, text });
    }
    return { events };
  }

  private takeResult(result: ClaudeResult): readonly ProviderEvent[] {
    const events: readonly ProviderEvent[] = this.usage.endTurn(result);
    if (this.needs.interrupted()) return [...events, { type: 'turn_end', how: 'interrupted' }];
    if (!result.is_error) return this.needs.goesOn() ? events : [...events, { type: 'turn_end', how: 'finished' }];
    const failure = failureOfResult(result, this.resetsAt, this.needs.now());
    this.resetsAt = undefined;
    // a limit is no refusal to start: the session waits for its account
    const waits = failure.class === 'rate_limit' || failure.class === 'overload';
    return [...events, ...(waits ? this.accept() : []), failed(failure)];
  }

  /** With the first word of the model: before it a failure means that it refused to start. */
  private accept(): readonly ProviderEvent[] {
    if (this.accepted || this.ref === undefined) return [];
    this.accepted = true;
    return [{ type: 'session', ref: this.ref }];
  }

  private remember(id: string, name: string): void {
    this.tools.set(id, name);
    const [oldest] = this.tools.keys();
    if (this.tools.size > toolsRemembered && oldest !== undefined) this.tools.delete(oldest);
  }

  private textOf(text: string): string {
    return cutText(this.needs.scrub(text).toWellFormed());
  }
}

const known = (event: ProviderEvent | undefined): readonly ProviderEvent[] => (event === undefined ? [] : [event]);
const failed = (failure: ProviderFailure): ProviderEvent => ({ type: 'failed', failure });

/** Member operations by the names that the farm knows them by. */
function nameOf(tool: string): string {
  const name = tool.startsWith(memberPrefix) ? tool.slice(memberPrefix.length) : tool;
  return name.slice(0, 256);
}

function wordsOf(content: string | readonly unknown[] | undefined): string {
  if (content === undefined || typeof content === 'string') return content ?? '';
  return content
    .map((part) => (isText(part) ? part.text : ''))
    .filter((part) => part !== '')
    .join('\n');
}

function isText(part: unknown): part is { readonly text: string } {
  return typeof part === 'object' && part !== null && 'text' in part && typeof part.text === 'string';
}
