import type { Price } from './worker-file.js';

/**
 * Read from the providers' public price lists on 2025-12-01.
 *
 * US dollars for a million tokens: for providers that say tokens and no price. Claude Code says its own. A model that is not here
 * has no price until the machine's owner gives it one (`prices` in worker.yaml).
 */
const listed: Readonly<Record<string, Price>> = {
  'gpt-5': { input: 1.25, output: 10, cache_read: 0.125 },
  'gpt-5-codex': { input: 1.25, output: 10, cache_read: 0.125 },
  'gpt-5.1': { input: 1.25, output: 10, cache_read: 0.125 },
  'gpt-5.1-codex': { input: 1.25, output: 10, cache_read: 0.125 },
  'gpt-5-mini': { input: 0.25, output: 2, cache_read: 0.025 },
  'gpt-5.1-codex-mini': { input: 0.25, output: 2, cache_read: 0.025 },
  'gpt-5-nano': { input: 0.05, output: 0.4, cache_read: 0.005 },
  'claude-opus-4-5': { input: 5, output: 25, cache_read: 0.5 },
  'claude-opus-4-1': { input: 15, output: 75, cache_read: 1.5 },
  'claude-sonnet-4-5': { input: 3, output: 15, cache_read: 0.3 },
  'claude-haiku-4-5': { input: 1, output: 5, cache_read: 0.1 },
};

interface Tokens {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_read_tokens?: number | undefined;
}

/** The list price of these tokens in US dollars; undefined where the model has none. A date behind its name makes no other model. */
export function listPrice(
  model: string | undefined,
  { input_tokens, output_tokens, cache_read_tokens = 0 }: Tokens,
  own: Readonly<Record<string, Price>> = {},
): number | undefined {
  if (model === undefined) return undefined;
  const plain = model.replace(/-\d{4}-?\d{2}-?\d{2}$/, '');
  const price = own[model] ?? own[plain] ?? listed[model] ?? listed[plain];
  if (price === undefined) return undefined;
  const cached = Math.min(cache_read_tokens, input_tokens);
  const fresh = input_tokens - cached;
  return (fresh * price.input + cached * (price.cache_read ?? price.input) + output_tokens * price.output) / 1e6;
}
