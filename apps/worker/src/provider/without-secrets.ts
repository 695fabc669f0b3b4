import type { ProviderEvent } from './events.js';
import type { SessionRequest } from './port.js';

/** What is shorter than a secret can be would tear words apart. */
const leastChars = 8;

/** A text without the secrets of a session: the door's token and the account's keys (H35). */
export function withoutSecrets(text: string, { memberDoor, account }: SessionRequest): string {
  return [memberDoor.token, ...Object.values(account?.secrets ?? {})]
    .filter((secret) => secret.length >= leastChars)
    .sort((one, other) => other.length - one.length)
    .reduce((clean, secret) => clean.replaceAll(secret, '***'), text);
}

/** An event whose texts hold no secret of the session. */
export function scrubbedEvent(event: ProviderEvent, request: SessionRequest): ProviderEvent {
  switch (event.type) {
    case 'message':
    case 'tool_result':
      return { ...event, text: withoutSecrets(event.text, request) };
    case 'tool_call':
      return { ...event, input: withoutSecrets(event.input, request) };
    default:
      return event;
  }
}
