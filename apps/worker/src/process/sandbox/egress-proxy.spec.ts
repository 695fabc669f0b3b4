import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, request, type Server } from 'node:http';
import { afterEach, describe, expect, it } from '@jest/globals';
import { closedAddress } from '#contracts';
import { aSandbox } from '../../../../../test/support/a-sandbox.js';
import { destinationOf, EgressList } from './egress-list.js';
import { EgressProxy } from './egress-proxy.js';

const canary = 'sk-canary-of-the-proxy';
const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

describe('the egress list', () => {
  it('takes names as they are asked for, with subdomains and ports only where it says so', () => {
    const list = new EgressList(['api.example.com', '*.npmjs.org', 'git.example.com:22']);
    const allows = (host: string, port: number) => list.allows({ host, port });
    expect([allows('API.example.com.', 443), allows('registry.npmjs.org', 80), allows('git.example.com', 22)]).toEqual([
      true,
      true,
      true,
    ]);
    const refused = [
      allows('api.example.com', 8443),
      allows('evil-api.example.com', 443),
      allows('api.example.com.evil.org', 443),
      allows('npmjs.org', 443),
      allows('git.example.com', 443),
    ];
    expect(refused).toEqual([false, false, false, false, false]);
    expect(destinationOf('user@host:80')).toBeUndefined();
    expect(destinationOf('[::1]:80')).toEqual({ host: '::1', port: 80 });
  });

  it('knows closed addresses in all their forms', () => {
    const closed = ['127.0.0.1', '10.1.2.3', '172.31.0.1', '192.168.1.1', '169.254.169.254', '100.64.0.1', '0.0.0.0'];
    const closed6 = ['::1', '::', 'fe80::1', 'fd00:ec2::254', '::ffff:10.0.0.1', '64:ff9b::a9fe:a9fe', '2002:7f00:1::'];
    expect([...closed, ...closed6, 'no address'].filter((address) => closedAddress(address) === undefined)).toEqual([]);
    expect(['1.1.1.1', '8.8.8.8', '2606:4700::1111'].filter((address) => closedAddress(address) !== undefined)).toEqual(
      [],
    );
  });
});

describe('the proxy of a sandbox', () => {
  it('calls no name that stands for a closed address, not even beside an open one, and says whom it refused', async () => {
    const upstream = await aServer();
    const refused: string[] = [];
    const proxy = await EgressProxy.open({
      egress: { hosts: ['*', `inner.test:${upstream.port}`], privateHosts: [`inner.test:${upstream.port}`] },
      keys: [],
      onRefused: (host) => refused.push(host),
      resolve: async (host) =>
        ({ 'mixed.test': ['93.184.216.34', '10.0.0.7'], 'inner.test': ['127.0.0.1'] })[host] ?? ['169.254.169.254'],
    });
    closers.push(() => proxy.close());
    const ask = (url: string) => through(proxy.url(), url);
    expect((await ask('http://mixed.test/')).status).toBe(403);
    expect((await ask('http://metadata.google.internal/')).status).toBe(403);
    expect((await ask(`http://inner.test:${upstream.port}/`)).status).toBe(200);
    expect(refused).toEqual(['mixed.test', 'metadata.google.internal']);
    expect((await through(proxy.url().replace(/:[0-9a-f]+@/, ':guess@'), 'http://mixed.test/')).status).toBe(407);
  });

  it('H35 adds the key on the way, so that nothing inside holds it, and streams the answer as it comes', async () => {
    const upstream = await aServer();
    const base = `http://127.0.0.1:${upstream.port}/v1`;
    const box = await aSandbox('bwrap', {
      keys: [{ upstream: base, header: 'authorization', value: `Bearer ${canary}` }],
    });
    closers.push(() => box.close());
    const inside = box.sandbox.upstreams[base] ?? '';
    const asked = await box.node(`
      const answer = await fetch('${inside}/messages?beta=1', { method: 'POST', body: 'hello', headers: { 'x-api-key': 'stand-in', authorization: 'Bearer stand-in' } });
      const parts = [];
      for await (const part of answer.body) parts.push(Buffer.from(part).toString());
      console.log(JSON.stringify(parts));
    `);
    expect(JSON.parse(asked.stdout)).toEqual(['first', 'second']);
    expect(upstream.seen).toMatchObject([{ url: '/v1/messages?beta=1', body: 'hello' }]);
    expect(upstream.seen[0]?.headers).toMatchObject({ authorization: `Bearer ${canary}` });
    expect(upstream.seen[0]?.headers).not.toHaveProperty('x-api-key');
    // no other road leads to the upstream, and none to another key
    for (const path of [inside.replace(/0$/, '1'), `http://127.0.0.1:${upstream.port}/v1`]) {
      const { stdout } = await box.node(`
        const ask = (url) => fetch(url, { signal: AbortSignal.timeout(5000) }).then((answer) => answer.text());
        console.log('asked', await ask('${path}').catch(() => 'not reached'));
      `);
      expect(stdout).toMatch(/^asked/);
      expect(stdout).not.toContain('first');
    }
    const search = await box.run(
      'sh',
      '-c',
      `cat /proc/*/environ /proc/*/cmdline; find / -xdev -type f -newer /etc/hosts 2>/dev/null | xargs cat; grep -ra ${canary.slice(0, 9)} . ${box.stateFolder} "$HOME" /run`,
    );
    expect(asked.stdout + asked.stderr + search.stdout + search.stderr).not.toContain(canary);
  });
});

async function aServer() {
  const seen: { url: string | undefined; headers: IncomingHttpHeaders; body: string }[] = [];
  const server: Server = createServer(async (asked, answer) => {
    let body = '';
    for await (const part of asked) body += String(part);
    seen.push({ url: asked.url, headers: asked.headers, body });
    answer.write('first', () => setTimeout(() => answer.end('second'), 200));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(async () => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return { port: typeof address === 'object' && address !== null ? address.port : 0, seen };
}

async function through(proxy: string, target: string): Promise<{ readonly status: number | undefined }> {
  const { hostname, port, username, password } = new URL(proxy);
  const authorization = `Basic ${btoa(`${username}:${password}`)}`;
  const headers = { host: new URL(target).host, 'proxy-authorization': authorization };
  const asked = request({ host: hostname, port, path: target, headers });
  asked.end();
  const [answer] = await once(asked, 'response');
  answer.resume();
  return { status: answer.statusCode };
}
