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

/** All that the second entry names, the first does too. */
function covers(wide: string, narrow: string): boolean {
  const [one, other] = [split(wide), split(narrow)];
  if (one.host === '*') return one.port === other.port || (one.port === undefined && webPorts.has(other.port ?? ''));
  if (one.port !== other.port && !(one.port === undefined && webPorts.has(other.port ?? ''))) return false;
  return one.host === other.host || (one.host.startsWith('*.') && other.host.endsWith(one.host.slice(1)));
}

const webPorts: ReadonlySet<string> = new Set(['80', '443']);

function split(entry: string): { readonly host: string; readonly port: string | undefined } {
  const [, host = entry, port] = /^(.*?)(?::(\d{1,5}))?$/.exec(entry.toLowerCase()) ?? [];
  return { host, port };
}
