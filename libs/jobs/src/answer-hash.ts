import { createHash } from 'node:crypto';

/** What a lease was ended with, as a digest: the same call again is known by it, whatever the order of its keys (A12.9). */
export function answerHash(operation: 'complete' | 'fail', given: unknown): Buffer {
  return createHash('sha256')
    .update(operation)
    .update('\n')
    .update(JSON.stringify(given, (_, value: unknown) => (isRecord(value) ? sorted(value) : value)))
    .digest();
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function sorted(record: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));
}
