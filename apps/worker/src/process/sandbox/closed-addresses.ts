import { BlockList, isIP, isIPv6 } from 'node:net';

const closed4: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
];

/** Of 2000::/3, the only unicast range that is given out; all outside of it is closed. */
const closed6: readonly (readonly [string, number])[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  // 6to4 holds any IPv4 address
  ['2002::', 16],
  ['3fff::', 20],
];

const closed = new BlockList();
for (const [network, prefix] of closed4) closed.addSubnet(network, prefix, 'ipv4');
for (const [network, prefix] of closed6) closed.addSubnet(network, prefix, 'ipv6');
const given = new BlockList();
given.addSubnet('2000::', 3, 'ipv6');

/**
 * Whether an address is closed to sessions: this machine, private and shared ranges, link-local with the metadata services of
 * clouds, multicast, documentation, and everything that embeds one of them.
 */
export function isClosedAddress(address: string): boolean {
  if (isIP(address) === 0) return true;
  if (isIPv6(address)) return !given.check(address, 'ipv6') || closed.check(address, 'ipv6');
  return closed.check(address, 'ipv4');
}
