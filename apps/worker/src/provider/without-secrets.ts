import type { ProviderEvent } from './events.js';
import type { SessionRequest } from './port.js';
import { formsOfSecrets, spansOf } from './secret-spans.js';

/** What a session must not say: the door's token and the account's keys (H35). */
export function secretsOf({ memberDoor, account }: Pick<SessionRequest, 'memberDoor' | 'account'>): readonly string[] {
  return [memberDoor.token, ...Object.values(account?.secrets ?? {})];
}

/** A text without secrets: agents print what they see (H35). */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  let clean = '';
  let from = 0;
  for (const span of spansOf(text, formsOfSecrets(secrets))) {
    clean += `${text.slice(from, span.from)}***`;
    from = span.to;
  }
  return clean + text.slice(from);
}

/** A value of JSON without secrets, in all its texts and names. */
export function scrubbedJson(value: unknown, secrets: readonly string[]): unknown {
  if (typeof value === 'string') return withoutSecrets(value, secrets);
  if (Array.isArray(value)) return value.map((each: unknown) => scrubbedJson(each, secrets));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]: [string, unknown]) => [
      withoutSecrets(name, secrets),
      scrubbedJson(each, secrets),
    ]),
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
