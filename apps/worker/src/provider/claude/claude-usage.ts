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
 * the requests of its own helpers too. A turn is told as one event with its price; what was used when the process ends without
 * that is told without.
 */
export class ClaudeUsage {
  /** Since the last event. */
  private open = none();
  private request: Sum | undefined;
  private told = none();
  private toldCost: number | undefined;
  private model: string | undefined;

  /** The sums of a resumed session hold what its earlier processes have told already. */
  constructor(private resumed: boolean) {}

  beginRequest(model: string, tokens: ClaudeTokens): void {
    this.endRequest();
    this.model = model;
    this.request = sumOf(tokens);
  }

  /** Its counts are whole ones, not the change. */
  countRequest(tokens: ClaudeTokens): void {
    if (this.request === undefined) return;
    const counted = sumOf(tokens);
    const { request } = this;
    this.request = {
      requests: 1,
      input: Math.max(request.input, counted.input),
      cached: Math.max(request.cached, counted.cached),
      output: Math.max(request.output, counted.output),
    };
  }

  endRequest(): void {
    if (this.request !== undefined) add(this.open, this.request);
    this.request = undefined;
  }

  /** One turn, at its end. */
  endTurn({ modelUsage, total_cost_usd }: ClaudeResult): UsageEvent | undefined {
    this.endRequest();
    const all = none();
    for (const used of Object.values(modelUsage ?? {})) {
      add(all, {
        requests: 0,
        input: used.inputTokens + used.cacheReadInputTokens + used.cacheCreationInputTokens,
        cached: used.cacheReadInputTokens,
        output: used.outputTokens,
      });
    }
    const { open } = this;
    // whatever it leaves out (a turn that was broken off) we have counted ourselves
    const turn: Sum = this.resumed
      ? open
      : {
          requests: open.requests,
          input: Math.max(open.input, all.input - this.told.input),
          cached: Math.max(open.cached, all.cached - this.told.cached),
          output: Math.max(open.output, all.output - this.told.output),
        };
    const cost = this.costOf(total_cost_usd);
    if (this.resumed) this.told = all;
    else add(this.told, turn);
    this.resumed = false;
    return this.tell(turn, cost);
  }

  /** What no turn told, when the process is gone. */
  rest(): UsageEvent | undefined {
    this.endRequest();
    return this.tell(this.open, undefined);
  }

  private costOf(total: number | undefined): number | undefined {
    if (total === undefined) return undefined;
    const before = this.toldCost ?? 0;
    this.toldCost = total;
    return this.resumed ? undefined : Math.max(0, total - before);
  }

  private tell(sum: Sum, cost: number | undefined): UsageEvent | undefined {
    this.open = none();
    if (sum.requests + sum.input + sum.output === 0) return undefined;
    return {
      type: 'usage',
      requests: sum.requests,
      input_tokens: sum.input,
      output_tokens: sum.output,
      ...(sum.cached === 0 ? {} : { cache_read_tokens: sum.cached }),
      ...(this.model === undefined ? {} : { model: this.model.slice(0, 128) }),
      ...(cost === undefined ? {} : { cost_usd: cost }),
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
