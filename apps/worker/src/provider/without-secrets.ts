import type { ProviderEvent } from './events.js';
import type { SessionRequest } from './port.js';

/** What is shorter than a secret can be would tear words apart. */
const leastChars = 8;

/** What a session must not say: the door's token and the account's keys (H35). */
export function secretsOf({ memberDoor, account }: Pick<SessionRequest, 'memberDoor' | 'account'>): readonly string[] {
  return [memberDoor.token, ...Object.values(account?.secrets ?? {})];
}

/** A text without secrets: agents print what they see (H35). */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return (
    secrets
      .filter((secret) => secret.length >= leastChars)
      // a tool's input is shown as JSON
      .flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)])
      // one secret may hold another
      .toSorted((one, other) => other.length - one.length)
      .reduce((clean, secret) => clean.replaceAll(secret, '***'), text)
  );
}

/** An event as the log, the farm and people may see it. */
export function scrubbedEvent(event: ProviderEvent, secrets: readonly string[]): ProviderEvent {
  switch (event.type) {
    case 'message':
    case 'tool_result':
      return { ...event, text: withoutSecrets(event.text, secrets) };
    case 'tool_call':
      return { ...event, input: withoutSecrets(event.input, secrets) };
    case 'failed':
      return { ...event, failure: { ...event.failure, detail: withoutSecrets(event.failure.detail, secrets) } };
    default:
      return event;
  }
}
