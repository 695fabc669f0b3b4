import type { SessionUsage, TaskUsage } from '#contracts';

type Counted = Pick<
  SessionUsage,
  'requests' | 'input_tokens' | 'output_tokens' | 'cache_read_tokens' | 'cost_usd' | 'unpriced_requests'
> & { readonly billing?: SessionUsage['billing'] | null };

/** Requests, tokens and list price in a few words; what a plan covers is not billed. */
export function usageText(used: Counted): string {
  const { requests, input_tokens, output_tokens, cache_read_tokens = 0, billing } = used;
  const cached = cache_read_tokens > 0 ? ` (${shortCount(cache_read_tokens)} cached)` : '';
  return [
    `${requests} ${requests === 1 ? 'request' : 'requests'}`,
    `${shortCount(input_tokens)} tokens in${cached}`,
    `${shortCount(output_tokens)} out`,
    priceText(used),
    ...(billing === 'plan' ? ['plan, not billed'] : []),
  ].join(', ');
}

/** The same of a whole Task: how much of it is billed. */
export function taskUsageText(usage: TaskUsage): string {
  const billings = new Set(usage.steps.map(({ billing }) => billing));
  const plan = billings.has('plan');
  if (!plan || !billings.has('metered')) return usageText({ ...usage, billing: plan ? 'plan' : null });
  return `${usageText(usage)}, of it ${money(usage.billed_usd ?? 0)} billed, the rest on plans`;
}

function priceText({ cost_usd, unpriced_requests = 0 }: Counted): string {
  if (cost_usd === undefined) return 'price not known';
  const rest = unpriced_requests > 0 ? ` and ${unpriced_requests} without a known price` : '';
  return `${money(cost_usd)} at list price${rest}`;
}

const money = (usd: number) => `$${usd.toFixed(usd !== 0 && usd < 0.1 ? 4 : 2)}`;

/** 812, 8.1k, 812k, 8.1M. */
export function shortCount(count: number): string {
  if (count < 1_000) return String(count);
  const [value, unit] = count < 999_500 ? [count / 1_000, 'k'] : [count / 1_000_000, 'M'];
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)}${unit}`;
}
