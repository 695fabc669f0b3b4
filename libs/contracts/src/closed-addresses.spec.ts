import { isIP } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { closedAddress } from './closed-addresses.js';

/**
 * IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890), each entry:
 * https://www.iana.org/assignments/iana-ipv4-special-registry, https://www.iana.org/assignments/iana-ipv6-special-registry.
 */
const registries: readonly (readonly [block: string, name: string])[] = [
  ['0.0.0.0/8', 'This network'],
  ['0.0.0.0/32', 'This host on this network'],
  ['10.0.0.0/8', 'Private-Use'],
  ['100.64.0.0/10', 'Shared Address Space'],
  ['127.0.0.0/8', 'Loopback'],
  ['169.254.0.0/16', 'Link Local'],
  ['172.16.0.0/12', 'Private-Use'],
  ['192.0.0.0/24', 'IETF Protocol Assignments'],
  ['192.0.0.0/29', 'IPv4 Service Continuity Prefix'],
  ['192.0.0.8/32', 'IPv4 dummy address'],
  ['192.0.0.9/32', 'Port Control Protocol Anycast'],
  ['192.0.0.10/32', 'Traversal Using Relays around NAT Anycast'],
  ['192.0.0.170/32', 'NAT64/DNS64 Discovery'],
  ['192.0.0.171/32', 'NAT64/DNS64 Discovery'],
  ['192.0.2.0/24', 'Documentation (TEST-NET-1)'],
  ['192.31.196.0/24', 'AS112-v4'],
  ['192.52.193.0/24', 'AMT'],
  ['192.88.99.0/24', 'Deprecated (6to4 Relay Anycast)'],
  ['192.88.99.2/32', '6a44-relay anycast address'],
  ['192.168.0.0/16', 'Private-Use'],
  ['192.175.48.0/24', 'Direct Delegation AS112 Service'],
  ['198.18.0.0/15', 'Benchmarking'],
  ['198.51.100.0/24', 'Documentation (TEST-NET-2)'],
  ['203.0.113.0/24', 'Documentation (TEST-NET-3)'],
  ['240.0.0.0/4', 'Reserved'],
  ['255.255.255.255/32', 'Limited Broadcast'],
  ['::1/128', 'Loopback Address'],
  ['::/128', 'Unspecified Address'],
  ['64:ff9b:1::/48', 'IPv4-IPv6 Translat.'],
  ['100::/64', 'Discard-Only Address Block'],
  ['100:0:0:1::/64', 'Dummy IPv6 Prefix'],
  ['2001::/23', 'IETF Protocol Assignments'],
  ['2001::/32', 'TEREDO'],
  ['2001:1::1/128', 'Port Control Protocol Anycast'],
  ['2001:1::2/128', 'Traversal Using Relays around NAT Anycast'],
  ['2001:1::3/128', 'DNS-SD Service Registration Protocol Anycast'],
  ['2001:2::/48', 'Benchmarking'],
  ['2001:3::/32', 'AMT'],
  ['2001:4:112::/48', 'AS112-v6'],
  ['2001:10::/28', 'Deprecated (previously ORCHID)'],
  ['2001:20::/28', 'ORCHIDv2'],
  ['2001:30::/28', 'Drone Remote ID Protocol Entity Tags (DETs) Prefix'],
  ['2001:db8::/32', 'Documentation'],
  ['2002::/16', '6to4'],
  ['2620:4f:8000::/48', 'Direct Delegation AS112 Service'],
  ['3fff::/20', 'Documentation'],
  ['5f00::/16', 'Segment Routing (SRv6) SIDs'],
  ['fc00::/7', 'Unique-Local'],
  ['fe80::/10', 'Link-Local Unicast'],
];

/** An IPv4 address within is judged for itself: IPv4-mapped, and what a translator reaches. */
const holders = ['::ffff:', '64:ff9b::'];

/** Multicast, and ranges that were given back. */
const others = ['224.0.0.0/4', 'ff00::/8', 'fec0::/10', '::/96', '::ffff:0:0:0/96', '4000::/3', 'e000::/4'];

/** Where clouds tell a machine who it is. */
const metadata = {
  everywhere: '169.254.169.254',
  'AWS containers': '169.254.170.2',
  'AWS over IPv6': 'fd00:ec2::254',
  Azure: '168.63.129.16',
  Alibaba: '100.100.100.200',
  Oracle: '192.0.0.192',
  'Google over IPv6': 'fd20:ce::254',
};

/** The first address, the last one, and one between. */
function edgesOf(block: string): readonly string[] {
  const [net = '', length = ''] = block.split('/');
  const bits = isIP(net) === 6 ? 128n : 32n;
  const span = 1n << (bits - BigInt(length));
  const first = numberOf(net);
  return [first, first + span / 2n, first + span - 1n].map((value) => (bits === 32n ? dotted(value) : grouped(value)));
}

function numberOf(address: string): bigint {
  if (isIP(address) === 4) return address.split('.').reduce((sum, part) => sum * 256n + BigInt(part), 0n);
  const [head = '', tail = ''] = address.split('::');
  const [left, right] = [head, tail].map((text) => (text === '' ? [] : text.split(':')));
  const zeros = Array.from({ length: 8 - (left?.length ?? 0) - (right?.length ?? 0) }, () => '0');
  return [...(left ?? []), ...zeros, ...(right ?? [])].reduce((sum, part) => sum * 65_536n + BigInt(`0x${part}`), 0n);
}

const dotted = (value: bigint): string => [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join('.');
const grouped = (value: bigint): string =>
  [112n, 96n, 80n, 64n, 48n, 32n, 16n, 0n].map((shift) => ((value >> shift) & 65_535n).toString(16)).join(':');

describe('a closed address', () => {
  it.each(registries)('H30 is each of %s: %s', (block) => {
    expect(edgesOf(block).filter((address) => closedAddress(address) === undefined)).toEqual([]);
  });

  it.each(others)('H30 is each of %s', (block) => {
    expect(edgesOf(block).filter((address) => closedAddress(address) === undefined)).toEqual([]);
  });

  it.each(Object.entries(metadata))('E3 is the metadata service of a cloud: %s', (_cloud, address) => {
    expect(closedAddress(address)).toBeDefined();
  });

  it.each(registries.filter(([block]) => block.includes('.')))('H30 is %s within an address of IPv6: %s', (block) => {
    for (const address of edgesOf(block)) {
      for (const holder of [...holders, '::', '::ffff:0:', '2002:']) {
        const written = holder === '2002:' ? `2002:${hexOf(address)}::1` : `${holder}${address}`;
        expect([written, closedAddress(written)]).toEqual([written, expect.any(String)]);
      }
      expect(closedAddress(`::ffff:${hexOf(address)}`)).toBe(closedAddress(address));
    }
  });

  it('H30 is one of a link of this machine', () => {
    for (const address of ['fe80::1%eth0', 'fe80::1%1', '::1%lo', '::ffff:127.0.0.1%lo'])
      expect(closedAddress(address)).toEqual(expect.any(String));
  });

  it('is no host of the internet', () => {
    const near = ['9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '168.63.129.15', '168.63.129.17'];
    const more = ['172.15.255.255', '172.32.0.0', '192.0.1.0', '192.0.3.0', '198.17.255.255', '198.20.0.0'];
    const six = ['2001:200::1', '2001:db7::1', '2606:4700::1111', '2620:4f:8001::1', '64:ff9b::808:808'];
    const open = [...near, ...more, '223.255.255.255', ...six, '::ffff:8.8.8.8'];
    expect(open.filter((address) => closedAddress(address) !== undefined)).toEqual([]);
  });
});

function hexOf(address: string): string {
  const value = numberOf(address);
  return `${(value >> 16n).toString(16)}:${(value & 65_535n).toString(16)}`;
}
