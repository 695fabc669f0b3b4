import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';
import { FarmError, limits } from '#contracts';
import type { SourceRules } from './source-rules.js';

interface Range {
  readonly what: string;
  readonly list: BlockList;
}

function ranges(what: string, subnets: readonly (readonly [string, number])[]): Range {
  const list = new BlockList();
  for (const [net, prefix] of subnets) list.addSubnet(net, prefix, isIP(net) === 6 ? 'ipv6' : 'ipv4');
  return { what, list };
}

/** Where a stranger's URL could reach what only this machine or its network may. In order of the plainest name. */
const refusedRanges: readonly Range[] = [
  ranges('a loopback address', [
    ['127.0.0.0', 8],
    ['::1', 128],
  ]),
  ranges('a link-local address, as of the metadata service of a cloud', [
    ['169.254.0.0', 16],
    ['fe80::', 10],
  ]),
  ranges('a private address', [
    ['10.0.0.0', 8],
    ['172.16.0.0', 12],
    ['192.168.0.0', 16],
    ['100.64.0.0', 10],
    ['fc00::', 7],
    ['fec0::', 10],
  ]),
  ranges('an address that is no host of the internet', [
    ['0.0.0.0', 8],
    ['192.0.0.0', 24],
    ['192.0.2.0', 24],
    ['192.88.99.0', 24],
    ['198.18.0.0', 15],
    ['198.51.100.0', 24],
    ['203.0.113.0', 24],
    ['224.0.0.0', 4],
    ['240.0.0.0', 4],
    // IPv4 in the old manner too
    ['::', 96],
    ['100::', 64],
    ['2001::', 23],
    ['2001:db8::', 32],
    ['2002::', 16],
    ['64:ff9b:1::', 48],
    ['ff00::', 8],
  ]),
];

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
    const range = rangeOf(address);
    if (range === undefined || allowed.check(address, familyOf(address))) continue;
    throw new FarmError('source_refused', `The host of the URL is at ${range}, and no admin has listed it.`, {
      hint: 'An admin lists hosts of the own network with LONGSHORE_SOURCE_HOSTS, by name, address or range, and starts the controller again.',
    });
  }
  return found;
}

/** What kind of refused address this is; undefined for one of the internet. */
export function rangeOf(address: string): string | undefined {
  const inner = innerAddress(address);
  const family = familyOf(inner);
  return refusedRanges.find(({ list }) => list.check(inner, family))?.what;
}

/** An IPv4 address inside an IPv6 one (mapped, or of a translator) is judged for what it reaches. */
function innerAddress(address: string): string {
  if (isIP(address) !== 6) return address;
  const [, high, low] = /^(?:0*:){5}ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(expanded(address)) ?? [];
  const [, natHigh, natLow] = /^64:ff9b:0:0:0:0:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(expanded(address)) ?? [];
  const [first, second] = high === undefined ? [natHigh, natLow] : [high, low];
  if (first === undefined || second === undefined) return address;
  const [a, b] = [Number.parseInt(first, 16), Number.parseInt(second, 16)];
  return [a >> 8, a & 255, b >> 8, b & 255].join('.');
}

/** Eight groups without leading zeros; a zone or a dotted tail is resolved first. */
function expanded(address: string): string {
  const plain = address.toLowerCase().replace(/%.*$/, '');
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(plain);
  const text = dotted ? `${dotted[1]}${hexPair(dotted[2], dotted[3])}:${hexPair(dotted[4], dotted[5])}` : plain;
  const [head = '', tail] = text.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - left.length - right.length }, () => '0');
  return [...left, ...zeros, ...right].map((group) => group.replace(/^0+(?=.)/, '')).join(':');
}

function hexPair(high = '0', low = '0'): string {
  return ((Number(high) << 8) | Number(low)).toString(16);
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
