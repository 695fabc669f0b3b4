import { describe, expect, it } from '@jest/globals';
import { FarmError, TaskUsage } from '#contracts';
import { readBudget } from './read-budget.js';
import { taskUsageText, usageText } from './usage-text.js';

const used = { requests: 12, input_tokens: 81_234, output_tokens: 950, cost_usd: 0.318 };
const step = { ...used, member_id: 'lead', account: 'work', models: [], at: '2026-01-01T00:00:00.000Z' };

describe('what was used, in words', () => {
  it('says requests, tokens and list price, and that a plan is not billed', () => {
    expect(usageText({ ...used, billing: 'metered' })).toBe('12 requests, 81k tokens in, 950 out, $0.32 at list price');
    expect(usageText({ ...used, billing: 'plan', cache_read_tokens: 70_000 })).toBe(
      '12 requests, 81k tokens in (70k cached), 950 out, $0.32 at list price, plan, not billed',
    );
    expect(usageText({ requests: 1, input_tokens: 9_960, output_tokens: 2_000_000 })).toBe(
      '1 request, 10k tokens in, 2.0M out, price not known',
    );
    expect(usageText({ ...used, unpriced_requests: 3 })).toContain('$0.32 at list price and 3 without a known price');
  });

  it('says of a Task on both kinds of accounts what is billed', () => {
    const steps = [
      { ...step, billing: 'plan' as const },
      { ...step, billing: 'metered' as const },
    ];
    const both = TaskUsage.parse({ ...used, cost_usd: 2, billed_usd: 0.5, steps });
    expect(taskUsageText(both)).toContain('$2.00 at list price, of it $0.50 billed, the rest on plans');
    expect(taskUsageText(TaskUsage.parse({ ...used, steps: steps.slice(0, 1) }))).toContain('plan, not billed');
    expect(taskUsageText(TaskUsage.parse({ ...used, steps: steps.slice(1) }))).not.toContain('plan');
  });
});

describe('--budget', () => {
  it('reads money, tokens and requests', () => {
    expect(readBudget([])).toBeUndefined();
    expect(readBudget(['$5'])).toEqual({ usd: 5 });
    expect(readBudget(['2.5usd,200requests', '2Mtokens'])).toEqual({ usd: 2.5, requests: 200, tokens: 2_000_000 });
    expect(readBudget(['10kTokens'])).toEqual({ tokens: 10_000 });
  });

  it.each(['5', '5eur', '-1usd', 'tokens', '5usd,'])('refuses %s and tells the forms', (given) => {
    expect(() => readBudget([given])).toThrow(FarmError);
  });
});
