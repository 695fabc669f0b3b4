import { covers } from './egress-list.js';

/**
 * Hosts that a job asks for, as far as the machine's owner lets it: entries of `EgressList`. Two patterns meet in the narrower one, and
 * what has no port stands for the usual ones (H27).
 */
export function narrowHosts(asked: readonly string[], allowed: readonly string[] | undefined): readonly string[] {
  if (allowed === undefined) return asked;
  const met = asked.flatMap((one) => allowed.flatMap((other) => narrower(one, other)));
  return [...new Set(met)];
}

function narrower(one: string, other: string): readonly string[] {
  if (covers(other, one)) return [one];
  return covers(one, other) ? [other] : [];
}
