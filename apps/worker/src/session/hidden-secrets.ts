import type { ProviderEvent } from '../provider/events.js';

/** What is shorter than a secret can be would tear words apart. */
const leastChars = 8;

/** A text without the secrets that a sandbox was given: agents print what they see (H35). */
function without(text: string, secrets: readonly string[]): string {
  return (
    secrets
      .filter((secret) => secret.length >= leastChars)
      // a tool's input is shown as JSON
      .flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)])
      .toSorted((one, other) => other.length - one.length)
      .reduce((clean, secret) => clean.replaceAll(secret, '***'), text)
  );
}

/** An event as the log, the farm and people may see it. */
export function scrubbed(event: ProviderEvent, secrets: readonly string[]): ProviderEvent {
  switch (event.type) {
    case 'message':
    case 'tool_result':
      return { ...event, text: without(event.text, secrets) };
    case 'tool_call':
      return { ...event, input: without(event.input, secrets) };
    case 'failed':
      return { ...event, failure: { ...event.failure, detail: without(event.failure.detail, secrets) } };
    default:
      return event;
  }
}
