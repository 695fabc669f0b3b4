import { FarmError } from '#contracts';
import { judgedAddresses } from '../source/address-rules.js';
import type { SourceRules } from '../source/source-rules.js';

export interface WebhookUrl {
  readonly href: string;
  readonly host: string;
  readonly port: number;
}

/** @throws FarmError webhook_refused, saying which rule it breaks and never the value */
export function readWebhookUrl(given: string): WebhookUrl {
  const url = /[\s\p{Cc}]/u.test(given) ? null : URL.parse(given);
  if (url === null || url.hostname === '')
    throw refused('This is no URL of a receiver.', 'url', 'Write https://host/path.');
  if (url.protocol !== 'https:')
    throw refused('A message may hold a link that answers for you: it goes out over https alone.', 'https');
  if (url.username !== '' || url.password !== '')
    throw refused(
      'The URL holds a credential.',
      'no_credentials',
      'Leave it out: the receiver knows the farm by the signature of its messages.',
    );
  if (url.hash !== '') throw refused('The URL has a fragment, which no receiver is ever sent.', 'no_fragment');
  return { href: url.href, host: url.hostname, port: url.port === '' ? 443 : Number(url.port) };
}

/**
 * The addresses of a receiver, judged like those of an origin (H30): anew for each message, which goes to these alone.
 *
 * @throws FarmError webhook_refused
 */
export async function judgedReceiver(
  url: WebhookUrl,
  rules: Pick<SourceRules, 'privateHosts' | 'resolve'>,
): Promise<readonly string[]> {
  try {
    return await judgedAddresses(url, rules);
  } catch (error) {
    if (!(error instanceof FarmError)) throw error;
    throw refused(error.detail, 'public_address', error.hint);
  }
}

function refused(detail: string, rule: string, hint?: string): FarmError {
  return new FarmError('webhook_refused', detail, {
    fields: [{ path: '/url', rule }],
    ...(hint !== undefined && { hint }),
  });
}
