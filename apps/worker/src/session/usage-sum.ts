import type { SessionUsage } from '#contracts';
import { listPrice } from '../accounts/list-prices.js';
import type { Price } from '../accounts/worker-file.js';
import type { ProviderEvent } from '../provider/events.js';
import type { SessionAccount } from '../provider/port.js';

type UsageEvent = Extract<ProviderEvent, { type: 'usage' }>;

/** Models that a session names at most; more are counted without their name. */
const modelsMost = 16;

interface Counting {
  readonly sinceEpoch: number;
  readonly account?: SessionAccount | undefined;
  /** The owner's own prices. */
  readonly prices: Readonly<Record<string, Price>>;
}

/** What a session has used so far, in all its processes: the provider's own price, else the list's. */
export class UsageSum {
  private readonly sum = { requests: 0, input_tokens: 0, output_tokens: 0 };
  private cached = 0;
  private cost: number | undefined;
  private unpriced = 0;
  /** Not known yet, so it does not count as unknown: the sum of the list's prices that stand in, and requests that have none. */
  private pending = { listed: 0, unpriced: 0 };
  private readonly models = new Set<string>();

  constructor(private readonly counting: Counting) {}

  get isEmpty(): boolean {
    const { requests, input_tokens, output_tokens } = this.sum;
    return requests + input_tokens + output_tokens === 0 && this.cost === undefined;
  }

  get total(): SessionUsage {
    const { account, sinceEpoch } = this.counting;
    return {
      ...this.sum,
      ...(this.cached > 0 ? { cache_read_tokens: this.cached } : {}),
      ...(this.cost === undefined ? {} : { cost_usd: this.cost }),
      ...(this.unpriced > 0 ? { unpriced_requests: this.unpriced } : {}),
      ...(account === undefined ? {} : { account: account.name, billing: account.billing }),
      ...(this.models.size > 0 ? { models: [...this.models] } : {}),
      since_epoch: sinceEpoch,
    };
  }

  add(event: UsageEvent): void {
    const { requests, input_tokens, output_tokens, cache_read_tokens, model, cost_usd } = event;
    this.sum.requests += requests;
    this.sum.input_tokens += input_tokens;
    this.sum.output_tokens += output_tokens;
    this.cached += cache_read_tokens ?? 0;
    if (model !== undefined && this.models.size < modelsMost) this.models.add(model);
    const price = cost_usd ?? listPrice(model, event, this.counting.prices);
    if (event.pricing === 'pending') this.wait(requests, price);
    else if (event.pricing === 'settles') this.settle(cost_usd);
    else this.count(requests, price);
  }

  private count(requests: number, price: number | undefined): void {
    if (price === undefined) this.unpriced += requests;
    else this.cost = (this.cost ?? 0) + price;
  }

  private wait(requests: number, price: number | undefined): void {
    if (price === undefined) this.pending.unpriced += requests;
    else {
      this.pending.listed += price;
      this.cost = (this.cost ?? 0) + price;
    }
  }

  private settle(cost: number | undefined): void {
    if (cost === undefined) this.unpriced += this.pending.unpriced;
    else this.cost = (this.cost ?? 0) - this.pending.listed + cost;
    this.pending = { listed: 0, unpriced: 0 };
  }
}
