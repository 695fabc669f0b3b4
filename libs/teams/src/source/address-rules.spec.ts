import { describe, expect, it } from '@jest/globals';
import { closedAddress } from '#contracts';
import { judgedAddresses } from './address-rules.js';

const judge = (host: string, addresses: readonly string[] = [], privateHosts: readonly string[] = [], port = 443) =>
  judgedAddresses({ host, port }, { privateHosts, resolve: async () => addresses });

describe('the addresses of a source', () => {
  it.each([
    ['127.0.0.1', 'loopback'],
    ['127.9.9.9', 'loopback'],
    ['::1', 'loopback'],
    ['::ffff:127.0.0.1', 'loopback'],
    ['::ffff:7f00:1', 'loopback'],
    ['0:0:0:0:0:ffff:7f00:0001', 'loopback'],
    ['64:ff9b::7f00:1', 'loopback'],
    ['169.254.169.254', 'metadata service'],
    ['::ffff:169.254.169.254', 'metadata service'],
    ['64:ff9b::a9fe:a9fe', 'metadata service'],
    ['fe80::1', 'link-local'],
    ['fe80::1%eth0', 'link-local'],
    ['10.0.0.1', 'private'],
    ['172.31.255.255', 'private'],
    ['192.168.1.1', 'private'],
    ['100.100.100.200', 'private'],
    ['fd00:ec2::254', 'private'],
    ['0.0.0.0', 'no host of the internet'],
    ['::', 'no host of the internet'],
    ['::127.0.0.1', 'no host of the internet'],
    ['224.0.0.1', 'no host of the internet'],
    ['255.255.255.255', 'no host of the internet'],
    ['ff02::1', 'no host of the internet'],
    ['2002:7f00:1::', 'no host of the internet'],
  ])('H30 refuse %s as %s', async (address, what) => {
    expect(closedAddress(address)).toContain(what);
    await expect(judge('git.example.com', [address])).rejects.toMatchObject({
      code: 'source_refused',
      detail: expect.stringContaining(what),
      hint: expect.stringContaining('LONGSHORE_SOURCE_HOSTS'),
    });
  });

  it.each(['140.82.121.4', '172.32.0.1', '2606:50c0:8000::154', '64:ff9b::8c52:7904'])('take %s', async (address) => {
    expect(closedAddress(address)).toBeUndefined();
    await expect(judge('git.example.com', [address])).resolves.toEqual([address]);
  });

  it('H30 are judged all: one private address among public ones refuses the name', async () => {
    await expect(judge('git.example.com', ['140.82.121.4', '10.0.0.1'])).rejects.toMatchObject({
      code: 'source_refused',
    });
  });

  it('H30 are judged when the host is written as a number, with no name server asked', async () => {
    for (const host of ['169.254.169.254', '[::1]', '[::ffff:10.0.0.1]'])
      await expect(judge(host, ['140.82.121.4'])).rejects.toMatchObject({ code: 'source_refused' });
    // what a name server makes of other spellings is judged as any answer
    await expect(judgedAddresses({ host: '0x7f.1', port: 443 }, { privateHosts: [] })).rejects.toMatchObject({
      code: 'source_refused',
    });
  });

  it('may be private where an admin listed the host, its port, the address or the range, and nothing beside', async () => {
    const takes = (listed: string, address = '10.1.2.3', host = 'git.corp', port = 8443) =>
      judge(host, [address], [listed], port).then(
        () => true,
        () => false,
      );
    expect(await Promise.all(['git.corp', 'GIT.corp:8443', '10.1.0.0/16'].map((listed) => takes(listed)))).toEqual([
      true,
      true,
      true,
    ]);
    expect(await takes('10.1.2.3', '10.1.2.3', '10.1.2.3')).toBe(true);
    expect(await takes('10.1.2.3')).toBe(true);
    expect(await takes('fd00::/8', 'fd00::1')).toBe(true);
    expect(
      await Promise.all(['git.corp:443', 'corp', '10.2.0.0/16', 'x.git.corp'].map((listed) => takes(listed))),
    ).toEqual([false, false, false, false]);
  });

  it('say when a name has none', async () => {
    const unknown = { code: 'source_unavailable', detail: expect.stringContaining('no address') };
    await expect(judge('nowhere.example')).rejects.toMatchObject(unknown);
    const broken = judgedAddresses(
      { host: 'nowhere.example', port: 443 },
      { privateHosts: [], resolve: () => Promise.reject(new Error('ENOTFOUND')) },
    );
    await expect(broken).rejects.toMatchObject(unknown);
  });
});
