import { FarmError } from '#contracts';

/** An object id: 40 lower-case hex digits. */
export type Oid = string;

export function isOid(value: string): value is Oid {
  return /^[0-9a-f]{40}$/.test(value);
}

/** Guards argv: nothing but an id reaches git where an id belongs. */
export function requireOid(value: string): Oid {
  if (isOid(value)) return value;
  throw new FarmError('invalid_input', 'This is not an object id.');
}

/** The id that git printed. */
export function oidOf(text: string): Oid {
  const [first = ''] = text.trim().split(/\s/, 1);
  if (isOid(first)) return first;
  throw new FarmError('internal', 'git answered no object id.');
}
