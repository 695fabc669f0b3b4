import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';
import { closedAddress, FarmError, limits } from '#contracts';
import type { SourceRules } from './source-rules.js';

/**
 * The addresses of a host, asked once and judged: git goes to these and asks nobody again. One bad address spoils all: a name that
 * answers with a public and a private one is a trick.
 *
 * @throws FarmError source_refused (a range that no admin listed), source_unavailable (no address)
 */
export async function judgedAddresses(
  { host, port }: { readonly host: string; readonly port: number },
  rules: Pick<SourceRules, 'privateHosts' | 'resolve'>,
): Promise<readonly string[]> {
  const name = host.replace(/^\[(.*)\]$/, '$1');
  const found = isIP(name) === 0 ? await resolved(name, rules) : [name];
  if (found.length === 0) throw unknownHost();
  if (namesHost(rules.privateHosts, name, port)) return found;
  const allowed = listOf(rules.privateHosts);
  for (const address of found) {
    const range = closedAddress(address);
    if (range === undefined || allowed.check(address, familyOf(address))) continue;
    throw new FarmError('source_refused', `The host of the URL is at ${range}, and no admin has listed it.`, {
      hint: 'An admin lists hosts of the own network with LONGSHORE_SOURCE_HOSTS (sources.private_hosts), by name, address or range, and starts the controller again.',
    });
  }
  return found;
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}

function namesHost(listed: readonly string[], name: string, port: number): boolean {
  const plain = listed.map((entry) => entry.toLowerCase());
  return plain.includes(name) || plain.includes(`${name}:${port}`) || plain.includes(`[${name}]:${port}`);
}

function listOf(listed: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of listed) {
    const [net = '', prefix] = entry.split('/');
    const family = isIP(net);
    if (family === 0) continue;
    list.addSubnet(net, Number(prefix ?? (family === 6 ? 128 : 32)), family === 6 ? 'ipv6' : 'ipv4');
  }
  return list;
}

async function resolved(name: string, { resolve = byName }: Pick<SourceRules, 'resolve'>): Promise<readonly string[]> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(unknownHost()), limits.checkSeconds * 1000);
  try {
    return await Promise.race([resolve(name), late]);
  } catch (cause) {
    throw cause instanceof FarmError ? cause : unknownHost();
  } finally {
    clearTimeout(timer);
  }
}

async function byName(name: string): Promise<readonly string[]> {
  return (await lookup(name, { all: true, verbatim: true })).map(({ address }) => address);
}

function unknownHost(): FarmError {
  return new FarmError('source_unavailable', 'The host of the URL has no address that this controller can find.', {
    hint: 'Check the name, and the name server of the machine that the controller runs on.',
  });
}
