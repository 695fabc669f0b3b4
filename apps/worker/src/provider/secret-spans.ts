/** What is shorter than a secret can be would tear words apart. */
const leastBytes = 8;

/** Where something to hide stands: from the first to before the last. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/**
 * How secrets come out again (H35): as they are, trimmed, with the other line ends, as JSON, and each line alone, as a program
 * that reads a file line by line shows it. Nothing that is shorter than 8 bytes; the longest first.
 */
export function formsOfSecrets(secrets: readonly string[]): readonly string[] {
  const forms = secrets.flatMap((secret) => {
    const unix = secret.replaceAll('\r\n', '\n');
    const whole = [secret, unix, unix.replaceAll('\n', '\r\n')].flatMap((form) => [form, form.trim()]);
    const lines = unix.split(/[\n\r]/).map((line) => line.trim());
    return [...whole, ...lines].flatMap((form) => [form, JSON.stringify(form).slice(1, -1)]);
  });
  return [...new Set(forms)]
    .filter((form) => Buffer.byteLength(form) >= leastBytes)
    .toSorted((one, other) => other.length - one.length);
}

/** Where any of the needles stands, also in another one; what overlaps is one span. In order. */
export function spansOf<T extends { readonly length: number }>(
  text: { indexOf(needle: T, from: number): number },
  needles: readonly T[],
): readonly Span[] {
  const found: Span[] = [];
  for (const needle of needles) {
    for (let at = text.indexOf(needle, 0); at >= 0; at = text.indexOf(needle, at + 1))
      found.push({ from: at, to: at + needle.length });
  }
  return joined(found);
}

/** Spans that overlap as one; such that only touch stay two. */
export function joined(spans: readonly Span[]): readonly Span[] {
  const whole: Span[] = [];
  for (const span of spans.toSorted((one, other) => one.from - other.from)) {
    const last = whole.at(-1);
    if (last === undefined || span.from >= last.to) whole.push(span);
    else whole[whole.length - 1] = { from: last.from, to: Math.max(last.to, span.to) };
  }
  return whole;
}
