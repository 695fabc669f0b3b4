import { z } from 'zod';
import { limits, storable } from '#contracts';

/**
 * Why a provider failed. The class is the reason that others act on; `detail` is a short sentence for the log, scrubbed, never
 * the provider's stderr.
 * auth, environment: the machine is at fault (H11). rate_limit, overload: the account waits. invalid: the request can never run.
 */
export const ProviderFailure = z.discriminatedUnion('class', [
  z.strictObject({ class: z.literal('rate_limit'), retry_after_ms: z.int().min(0), detail: z.string() }),
  z.strictObject({
    class: z.enum(['auth', 'overload', 'invalid', 'crash', 'environment']),
    detail: z.string(),
  }),
]);
export type ProviderFailure = z.output<typeof ProviderFailure>;

const text = z.string().max(limits.providerTextChars);

/** What every provider's stream is normalised to. Any event is a sign of life. */
export const ProviderEvent = z.discriminatedUnion('type', [
  /** The provider accepted the session; always the first. A failure before it means "refused to start". */
  z.strictObject({ type: z.literal('session'), ref: storable(512).min(1) }),
  z.strictObject({ type: z.literal('message'), text }),
  /** `input` is a preview, cut, never to be parsed. */
  z.strictObject({ type: z.literal('tool_call'), name: z.string().max(256), input: text }),
  z.strictObject({ type: z.literal('tool_result'), name: z.string().max(256), ok: z.boolean(), text }),
  /** What this step used, to be added up: `input_tokens` are all that went in, `cache_read_tokens` those of them read from a cache. */
  z.strictObject({
    type: z.literal('usage'),
    requests: z.int().min(0),
    input_tokens: z.int().min(0),
    output_tokens: z.int().min(0),
    cache_read_tokens: z.int().min(0).optional(),
    /** The model that was used, as the provider names it: its list price counts where `cost_usd` is missing. */
    model: storable(limits.modelChars).min(1).optional(),
    /** The provider's own number at list price, whoever pays. */
    cost_usd: z.number().min(0).optional(),
    /**
     * pending: told at once, its price comes with a later event; the list's stands in where it has one. settles: `cost_usd` is the
     * price of all that was pending and of this; without it the list's prices stand.
     */
    pricing: z.enum(['pending', 'settles']).optional(),
  }),
  /** The turn is over and the session waits for `say`. */
  z.strictObject({ type: z.literal('turn_end'), how: z.enum(['finished', 'interrupted', 'failed']) }),
  z.strictObject({ type: z.literal('failed'), failure: ProviderFailure }),
  /** The session's process ended: always the last. */
  z.strictObject({ type: z.literal('exit'), code: z.int().nullable(), signal: z.string().nullable() }),
]);
export type ProviderEvent = z.output<typeof ProviderEvent>;

/** Cuts a text to what an event may hold, and says so. */
export function cutText(value: string): string {
  if (value.length <= limits.providerTextChars) return value;
  const note = `… (${value.length} characters)`;
  return value.slice(0, limits.providerTextChars - note.length) + note;
}
