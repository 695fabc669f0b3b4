import type { z } from 'zod';
import type { Usage } from '#contracts';
import type { ProviderEvent } from '../provider/events.js';

type UsageEvent = Extract<ProviderEvent, { type: 'usage' }>;

/** What a session has used so far, in all its processes. */
export class UsageSum {
  private readonly sum: z.output<typeof Usage> = { requests: 0, input_tokens: 0, output_tokens: 0 };

  get total(): z.output<typeof Usage> {
    return { ...this.sum };
  }

  add(event: UsageEvent): void {
    this.sum.requests += event.requests;
    this.sum.input_tokens += event.input_tokens;
    this.sum.output_tokens += event.output_tokens;
    if (event.cost_usd !== undefined) this.sum.cost_usd = (this.sum.cost_usd ?? 0) + event.cost_usd;
  }
}
