import { request } from 'undici';
import { FarmError, limits } from '#contracts';
import { pinnedAgent } from '../source/pinned-agent.js';
import type { SourceRules } from '../source/source-rules.js';
import { excerptOf, secretsOfUrl } from './excerpt.js';
import { judgedReceiver, readWebhookUrl } from './judge-url.js';
import { secretsOfSigning, signedHeaders } from './sign.js';

export interface Outgoing {
  readonly id: string;
  readonly url: string;
  /** `whsec_…`: signs, and goes nowhere. */
  readonly secret: string;
  readonly body: string;
  /** What of the body nobody may read who looks at the queue, should the receiver say it again. */
  readonly hidden: readonly string[];
}

/** What came of one try. `gone`: the receiver wants no more of it, ever. */
export type Posted =
  | { readonly taken: true; readonly status: number }
  | { readonly taken: false; readonly why: string; readonly gone: boolean };

/**
 * Sends one signed message to the addresses that were judged a moment ago, and to nowhere else: no name is asked again and no
 * redirect is followed (H30, H44). Within `limits.webhookTimeoutMs`, whatever the receiver and the name server do.
 */
export async function postMessage(
  { id, url, secret, body, hidden }: Outgoing,
  rules: Pick<SourceRules, 'privateHosts' | 'resolve' | 'caFile'>,
  closing: AbortSignal,
): Promise<Posted> {
  const signal = AbortSignal.any([closing, AbortSignal.timeout(limits.webhookTimeoutMs)]);
  try {
    const receiver = readWebhookUrl(url);
    const addresses = await within(signal, judgedReceiver(receiver, rules));
    const timeoutMs = limits.webhookTimeoutMs;
    const agent = await pinnedAgent(
      { addresses, caFile: rules.caFile, timeoutMs },
      { headersTimeout: timeoutMs, bodyTimeout: timeoutMs },
    );
    try {
      const answer = await request(receiver.href, {
        method: 'POST',
        dispatcher: agent,
        signal,
        headers: {
          'content-type': 'application/json',
          'user-agent': 'longshore',
          ...signedHeaders(secret, id, body, new Date()),
        },
        body,
      });
      const { statusCode: status, body: said } = answer;
      // What is cut off below ends with an error that nobody waits for.
      said.on('error', () => undefined);
      if (status >= 200 && status < 300) return { taken: true, status };
      const excerpt = await excerptOf(said, [...hidden, ...secretsOfSigning(secret), ...secretsOfUrl(receiver.href)]);
      return { taken: false, why: refusalOf(status, excerpt), gone: status === 410 };
    } finally {
      await agent.destroy();
    }
  } catch (error) {
    if (closing.aborted) throw error;
    return { taken: false, why: faultOf(error, signal), gone: false };
  }
}

function refusalOf(status: number, excerpt: string): string {
  if (status >= 300 && status < 400) return `it answered ${status}: redirects are not followed`;
  return excerpt === '' ? `it answered ${status}` : `it answered ${status}: ${excerpt}`;
}

/** Never the URL, which may open what is behind it. */
function faultOf(error: unknown, signal: AbortSignal): string {
  if (error instanceof FarmError) return error.detail;
  if (signal.aborted) return `no answer within ${limits.webhookTimeoutMs / 1000} s`;
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]*$/.test(code) ? `no connection (${code})` : 'no connection';
}

async function within<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const { promise: over, reject } = Promise.withResolvers<never>();
  const end = (): void => reject(signal.reason);
  signal.addEventListener('abort', end, { once: true });
  try {
    return await Promise.race([work, over]);
  } finally {
    signal.removeEventListener('abort', end);
  }
}
