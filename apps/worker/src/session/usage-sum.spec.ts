import { describe, expect, it } from '@jest/globals';
import { UsageSum } from './usage-sum.js';

const account = { name: 'work', environment: {}, secrets: { KEY: 'canary' }, billing: 'metered' } as const;
const event = { type: 'usage', requests: 1, input_tokens: 1_000_000, output_tokens: 100_000 } as const;

describe('what a session uses', () => {
  it('is added up at the price that the provider says, else at that of the list', () => {
    const sum = new UsageSum({ sinceEpoch: 3, account, prices: {} });
    expect(sum.isEmpty).toBe(true);
    sum.add({ ...event, model: 'gpt-5', cost_usd: 9 });
    sum.add({ ...event, model: 'gpt-5-2025-08-07', cache_read_tokens: 400_000 });
    expect(sum.total).toEqual({
      requests: 2,
      input_tokens: 2_000_000,
      output_tokens: 200_000,
      cache_read_tokens: 400_000,
      // 9 + 0.6 × 1.25 + 0.4 × 0.125 + 0.1 × 10
      cost_usd: expect.closeTo(10.8, 6),
      account: 'work',
      billing: 'metered',
      models: ['gpt-5', 'gpt-5-2025-08-07'],
      since_epoch: 3,
    });
    expect(JSON.stringify(sum.total)).not.toContain('canary');
  });

  it("takes the owner's price before the list's, and says how much has none", () => {
    const sum = new UsageSum({ sinceEpoch: 1, prices: { 'gpt-5': { input: 1, output: 0 } } });
    sum.add({ ...event, model: 'gpt-5' });
    sum.add({ ...event, model: 'a-model-of-the-house' });
    sum.add({ ...event });
    expect(sum.total).toMatchObject({ requests: 3, cost_usd: 1, unpriced_requests: 2 });
  });

  it('lets the list stand in for a price that comes with the end of the turn', () => {
    const sum = new UsageSum({ sinceEpoch: 1, prices: { listed: { input: 1, output: 0 } } });
    sum.add({ ...event, model: 'listed', pricing: 'pending' });
    sum.add({ ...event, model: 'new', pricing: 'pending' });
    expect(sum.total).toMatchObject({ requests: 2, cost_usd: 1 });
    expect(sum.total).not.toHaveProperty('unpriced_requests');
    sum.add({ ...event, requests: 0, cost_usd: 7, pricing: 'settles' });
    expect(sum.total).toMatchObject({ requests: 2, input_tokens: 3_000_000, cost_usd: 7 });
    sum.add({ ...event, model: 'listed', pricing: 'pending' });
    sum.add({ ...event, model: 'new', pricing: 'pending' });
    sum.add({ ...event, requests: 0, pricing: 'settles' });
    expect(sum.total).toMatchObject({ requests: 4, cost_usd: 8, unpriced_requests: 1 });
  });
});
