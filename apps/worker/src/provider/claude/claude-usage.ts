import { limits } from '#contracts';
import type { ProviderEvent } from '../events.js';
import type { ClaudeResult, ClaudeTokens } from './claude-lines.js';

type UsageEvent = Extract<ProviderEvent, { type: 'usage' }>;

interface Sum {
  requests: number;
  input: number;
  cached: number;
  output: number;
}

const none = (): Sum => ({ requests: 0, input: 0, cached: 0, output: 0 });

/**
 * What a session used. Claude Code counts each request while it runs, and at the end of a turn all of the session with its price,
 * the requests of its own helpers too: each request is told at once, and the turn settles their price.
 */
export class ClaudeUsage {
  private request: Sum | undefined;
  private model: string | undefined;
  /** Of this session, as far as it was told. */
  private told = none();
  private toldCost = 0;
  private isPending = false;

  /** The sums of a resumed session hold what its earlier processes have told already. */
  constructor(private resumed: boolean) {}

  /** Answers what the request before it came to, where that was broken off. */
  beginRequest(model: string, tokens: ClaudeTokens): UsageEvent | undefined {
    const before = this.endRequest();
    this.model = model.slice(0, limits.modelChars);
    this.request = sumOf(tokens);
    return before;
  }

  /** Its counts are whole ones, not the change. */
  countRequest(tokens: ClaudeTokens): void {
    const { request } = this;
    if (request === undefined) return;
    const counted = sumOf(tokens);
    this.request = {
      requests: 1,
      input: Math.max(request.input, counted.input),
      cached: Math.max(request.cached, counted.cached),
      output: Math.max(request.output, counted.output),
    };
  }

  endRequest(): UsageEvent | undefined {
    const { request } = this;
    this.request = undefined;
    if (request === undefined) return undefined;
    add(this.told, request);
    this.isPending = true;
    return this.eventOf(request, 'pending');
  }

  /** One turn, at its end: what it used beside the requests that were told, and the price of all. */
  endTurn({ modelUsage, total_cost_usd }: ClaudeResult): readonly UsageEvent[] {
    const last = this.endRequest();
    const all = none();
    for (const used of Object.values(modelUsage ?? {})) {
      add(all, {
        requests: 0,
        input: used.inputTokens + used.cacheReadInputTokens + used.cacheCreationInputTokens,
        cached: used.cacheReadInputTokens,
        output: used.outputTokens,
      });
    }
    // a request that was broken off is told and may be missing in its sums
    const beside: Sum = {
      requests: 0,
      input: this.resumed ? 0 : Math.max(0, all.input - this.told.input),
      cached: this.resumed ? 0 : Math.max(0, all.cached - this.told.cached),
      output: this.resumed ? 0 : Math.max(0, all.output - this.told.output),
    };
    if (this.resumed) this.told = all;
    else add(this.told, beside);
    const cost = total_cost_usd === undefined || this.resumed ? undefined : Math.max(0, total_cost_usd - this.toldCost);
    this.toldCost = total_cost_usd ?? this.toldCost;
    this.resumed = false;
    const settled = this.isPending || beside.input + beside.output > 0 ? [this.settle(beside, cost)] : [];
    return [...(last === undefined ? [] : [last]), ...settled];
  }

  /** What no turn told, when the process is gone. */
  rest(): readonly UsageEvent[] {
    const last = this.endRequest();
    return [...(last === undefined ? [] : [last]), ...(this.isPending ? [this.settle(none(), undefined)] : [])];
  }

  private settle(beside: Sum, cost: number | undefined): UsageEvent {
    this.isPending = false;
    return { ...this.eventOf(beside, 'settles'), ...(cost === undefined ? {} : { cost_usd: cost }) };
  }

  private eventOf(sum: Sum, pricing: 'pending' | 'settles'): UsageEvent {
    return {
      type: 'usage',
      requests: sum.requests,
      input_tokens: sum.input,
      output_tokens: sum.output,
      ...(sum.cached === 0 ? {} : { cache_read_tokens: sum.cached }),
      ...(this.model === undefined ? {} : { model: this.model }),
      pricing,
    };
  }
}

function sumOf(tokens: ClaudeTokens): Sum {
  const cached = tokens.cache_read_input_tokens ?? 0;
  const input = tokens.input_tokens + cached + (tokens.cache_creation_input_tokens ?? 0);
  return { requests: 1, input, cached, output: tokens.output_tokens };
}

function add(to: Sum, more: Sum): void {
  to.requests += more.requests;
  to.input += more.input;
  to.cached += more.cached;
  to.output += more.output;
}
