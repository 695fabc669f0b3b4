import { BlockList, isIP } from 'node:net';

interface Range {
  readonly what: string;
  readonly list: BlockList;
}

function range(what: string, subnets: readonly (readonly [string, number])[]): Range {
  const list = new BlockList();
  for (const [net, prefix] of subnets) list.addSubnet(net, prefix, familyOf(net));
  return { what, list };
}

/**
 * Where a stranger's URL, or a session, could reach what only this machine or its network may: all that the special-purpose
 * registries of IANA name, multicast, and what clouds put elsewhere. In order of the plainest name.
 */
const closed: readonly Range[] = [
  range('a loopback address', [
    ['127.0.0.0', 8],
    ['::1', 128],
  ]),
  range('a link-local address, as of the metadata service of a cloud', [
    ['169.254.0.0', 16],
    ['fe80::', 10],
  ]),
  range('a private address', [
    ['10.0.0.0', 8],
    ['172.16.0.0', 12],
    ['192.168.0.0', 16],
    ['100.64.0.0', 10],
    ['fc00::', 7],
    ['fec0::', 10],
  ]),
  // looks like any other, and answers every machine of Azure
  range('the metadata service of a cloud', [['168.63.129.16', 32]]),
  range('an address that is no host of the internet', [
    ['0.0.0.0', 8],
    ['192.0.0.0', 24],
    ['192.0.2.0', 24],
    // relays of protocols, sinks of name servers: nothing to call
    ['192.31.196.0', 24],
    ['192.52.193.0', 24],
    ['192.88.99.0', 24],
    ['192.175.48.0', 24],
    ['198.18.0.0', 15],
    ['198.51.100.0', 24],
    ['203.0.113.0', 24],
    ['224.0.0.0', 3],
    ['2001::', 23],
    ['2001:db8::', 32],
    // 6to4 holds any IPv4 address
    ['2002::', 16],
    ['2620:4f:8000::', 48],
    ['3fff::', 20],
  ]),
];

/** The only unicast range of IPv6 that is given out. */
const given = new BlockList();
given.addSubnet('2000::', 3, 'ipv6');

/**
 * Why an address is closed to what we start for others: this machine, private and shared ranges, link-local with the metadata
 * services of clouds, multicast, documentation. One that holds an IPv4 address is judged for that. Undefined: a host of the
 * internet.
 */
export function closedAddress(address: string): string | undefined {
  if (isIP(address) === 0) return notOfTheInternet;
  // a zone names a link of this machine, and no list knows it
  const inner = innerAddress(address.replace(/%.*$/, ''));
  const family = familyOf(inner);
  const found = closed.find(({ list }) => list.check(inner, family))?.what;
  return found ?? (family === 'ipv6' && !given.check(inner, family) ? notOfTheInternet : undefined);
}

const notOfTheInternet = 'an address that is no host of the internet';

/** An IPv4 address inside an IPv6 one (mapped, or of a translator) is judged for what it reaches. */
function innerAddress(address: string): string {
  if (isIP(address) !== 6) return address;
  const [, high, low] = /^(?:0:){5}ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(expanded(address)) ?? [];
  const [, natHigh, natLow] = /^64:ff9b:0:0:0:0:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(expanded(address)) ?? [];
  const [first, second] = high === undefined ? [natHigh, natLow] : [high, low];
  if (first === undefined || second === undefined) return address;
  const [a, b] = [Number.parseInt(first, 16), Number.parseInt(second, 16)];
  return [a >> 8, a & 255, b >> 8, b & 255].join('.');
}

/** Eight groups without leading zeros; a dotted tail is resolved first. */
function expanded(address: string): string {
  const plain = address.toLowerCase();
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
