import { z } from 'zod';

/**
 * A schema that a plugin brought along, as one of ours. Patterns are not taken over: a plugin could stop the farm with one that
 * takes for ever to match its own text. Beside a format, which says the same, a pattern is left out. Errors: an error whose message
 * is fit for an admin.
 */
export function pluginSchema(given: Readonly<Record<string, unknown>>): z.ZodType {
  const plain = z.record(z.string(), z.unknown()).parse(withoutPatterns(given));
  return z.fromJSONSchema(plain);
}

function withoutPatterns(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutPatterns);
  if (typeof value !== 'object' || value === null) return value;
  if ('patternProperties' in value) throw new TypeError('patternProperties can not be used');
  const hasPattern = 'pattern' in value && typeof value.pattern === 'string';
  if (hasPattern && !('format' in value)) throw new TypeError('pattern can not be used: use format, enum or maxLength');
  const entries = Object.entries(value).filter(([key]) => !(hasPattern && key === 'pattern'));
  return Object.fromEntries(entries.map(([key, inner]) => [key, withoutPatterns(inner)]));
}
