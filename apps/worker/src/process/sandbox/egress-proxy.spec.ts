import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, request, type Server } from 'node:http';
import { connect, createServer as createNetServer, type Server as NetServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from '@jest/globals';
import { closedAddress, limits } from '#contracts';
import { aSandbox } from '../../../../../test/support/a-sandbox.js';
import { waitUntil } from '../../../../../test/support/wait-until.js';
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

  it.each([
    ['in chunks', (body: string) => `transfer-encoding: chunked\r\n\r\n${chunked(body)}`],
    [
      'with a length that Connection names',
      (body: string) => `connection: content-length, host\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    ],
  ])('H35 lets no session put a request before the key of the next one: a body %s', async (_how, framed) => {
    const upstream = await aServer();
    const base = `http://127.0.0.1:${upstream.port}/v1`;
    const [first, next] = [await aProxyFor(base, 'key-of-first'), await aProxyFor(base, 'key-of-next')];
    const smuggled = 'POST /v1/smuggled HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n';
    const own = `${next.upstreams()[base]}/own`;
    for (const method of ['GET', 'DELETE', 'OPTIONS', 'POST']) {
      upstream.seen.length = 0;
      const session = await aConnection(first);
      session.write(`${method} ${pathOf(first, base)}/a HTTP/1.1\r\nhost: x\r\n${framed(smuggled)}`);
      await once(session, 'data');
      session.destroy();
      await (await fetch(own)).text();
      expect(upstream.seen.map(({ url, body }) => [url, body])).toEqual([
        ['/v1/a', smuggled],
        ['/v1/own', ''],
      ]);
      expect(upstream.seen.map(({ headers }) => headers.authorization)).toEqual(['key-of-first', 'key-of-next']);
    }
    expect(upstream.connections()).toBe(8);
  });

  it('passes the body of a plain http GET on as its body, and refuses one whose framing is not plain', async () => {
    const upstream = await aServer();
    const proxy = await aProxyTo(upstream.port);
    const ask = async (framed: string) => {
      const session = await aConnection(proxy);
      session.write(
        `GET http://inner.test:${upstream.port}/a HTTP/1.1\r\nhost: x\r\n${credentialOf(proxy)}connection: close\r\n${framed}`,
      );
      return (await text(session)).split('\r\n')[0];
    };
    const smuggled = 'GET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n';
    expect(await ask(`transfer-encoding: chunked\r\n\r\n${chunked(smuggled)}`)).toContain('200');
    expect(await ask(`transfer-encoding: gzip, chunked\r\n\r\n${chunked(smuggled)}`)).toContain('400');
    expect(upstream.seen.map(({ url, body }) => [url, body])).toEqual([['/a', smuggled]]);
  });

  it('H35 passes on no method whose answer would tell the key', async () => {
    const upstream = await aServer();
    const base = `http://127.0.0.1:${upstream.port}`;
    const proxy = await aProxyFor(base, canary);
    const plain = await aProxyTo(upstream.port);
    const ask = async (to: EgressProxy, method: string, target: string) => {
      const session = await aConnection(to);
      session.write(
        `${method} ${target} HTTP/1.1\r\nhost: x\r\n${to === plain ? credentialOf(to) : ''}connection: close\r\n\r\n`,
      );
      return Number((await text(session)).split(' ')[1]);
    };
    for (const method of ['TRACE', 'PROPFIND', 'SEARCH', 'TRACK']) {
      expect([400, 405]).toContain(await ask(proxy, method, `${pathOf(proxy, base)}/a`));
      expect([400, 405]).toContain(await ask(plain, method, `http://inner.test:${upstream.port}/a`));
    }
    expect(upstream.seen).toEqual([]);
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
      expect([method, await ask(proxy, method, `${pathOf(proxy, base)}/a`)]).toEqual([method, 200]);
  });

  it('answers whoever asks for a tunnel that does not come about, and lets the connection go', async () => {
    const unheard = createNetServer();
    const port = await portOf(unheard);
    await new Promise((resolve) => unheard.close(resolve));
    const proxy = await aProxyTo(port);
    const answerTo = async (target: string) => {
      const session = await aConnection(proxy);
      session.write(`CONNECT ${target} HTTP/1.1\r\nhost: x\r\n${credentialOf(proxy)}\r\n`);
      return (await text(session)).split('\r\n')[0];
    };
    // as often as there is room for connections: none is held on to
    for (let tries = 0; tries <= limits.egressConnections; tries += 1)
      expect(await answerTo(`inner.test:${port}`)).toBe('HTTP/1.1 502 Bad Gateway');
    expect(await answerTo('other.test:443')).toBe('HTTP/1.1 403 Forbidden');
    expect(await answerTo('no authority')).toBe('HTTP/1.1 400 Bad Request');
  });

  it('H35 sends a key to no other host or path than below its upstream', async () => {
    const upstream = await aServer();
    const origin = `http://127.0.0.1:${upstream.port}`;
    for (const base of [origin, `${origin}/v1`]) {
      const proxy = await aProxyFor(base, canary);
      const ask = async (rest: string) => {
        const session = await aConnection(proxy);
        session.write(`GET ${pathOf(proxy, base)}${rest} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
        return Number((await text(session)).split(' ')[1]);
      };
      expect(await ask('http://other.example/steal')).toBe(404);
      expect(await ask('@other.example/steal')).toBe(404);
      expect(upstream.seen).toEqual([]);
      if (base !== origin) expect(await ask('/%2e%2e/steal')).toBe(400);
      expect(await ask('//other.example/in?as=path')).toBe(200);
      expect(await ask('?beta=1')).toBe(200);
      const below = base.slice(origin.length);
      expect(upstream.seen.splice(0).map(({ url, headers }) => [url, headers.host])).toEqual([
        [`${below}//other.example/in?as=path`, new URL(origin).host],
        [`${below}/?beta=1`, new URL(origin).host],
      ]);
    }
  });

  it('holds no more connections of a session than its limit, its own and onward together', async () => {
    const upstream = await aServer();
    const proxy = await aProxyTo(upstream.port);
    for (let open = 1; open < limits.egressConnections; open += 1) await aConnection(proxy);
    const last = await aConnection(proxy);
    const tooMany = await aConnection(proxy);
    await once(tooMany.resume(), 'close');
    last.write(`CONNECT inner.test:${upstream.port} HTTP/1.1\r\nhost: x\r\n${credentialOf(proxy)}\r\n`);
    expect(String(await once(last, 'data'))).toContain('503 Service Unavailable');
    expect(upstream.connections()).toBe(0);
  });

  it('counts what one connection asks for at once, and ends all of it with that connection', async () => {
    const held = new Set<Socket>();
    const silent = createNetServer((socket) => {
      held.add(socket);
      socket.on('error', () => socket.destroy());
      socket.resume().once('close', () => held.delete(socket));
    });
    const port = await portOf(silent);
    const base = `http://127.0.0.1:${port}`;
    const proxy = await aProxyFor(base, canary);
    const session = await aConnection(proxy);
    const one = `GET ${pathOf(proxy, base)}/a HTTP/1.1\r\nhost: x\r\n\r\n`;
    session.write(one.repeat(limits.egressConnections * 2));
    await waitUntil(() => held.size >= limits.egressConnections - 1);
    // connections are taken in the order they came: what was to come before this one has come
    const after = connect(port, '127.0.0.1');
    await waitUntil(() => [...held].some(({ remotePort }) => remotePort === after.localPort));
    after.destroy();
    await waitUntil(() => held.size === limits.egressConnections - 1);
    session.resetAndDestroy();
    await waitUntil(() => held.size === 0);
  });

  it.each(['CONNECT', 'GET'])('opens nothing for a %s whose caller went away during the look-up', async (method) => {
    const upstream = await aServer();
    const lookups: ((addresses: readonly string[]) => void)[] = [];
    const proxy = await aProxyTo(upstream.port, () => new Promise((resolve) => lookups.push(resolve)));
    const authority = `inner.test:${upstream.port}`;
    const target = method === 'GET' ? `http://${authority}/gone` : authority;
    const gone = await aConnection(proxy);
    gone.write(`${method} ${target} HTTP/1.1\r\nhost: x\r\n${credentialOf(proxy)}\r\n`);
    await waitUntil(() => lookups.length === 1);
    gone.resetAndDestroy();
    // a second caller's way through the same proxy: the first one's end was seen before
    const other = await aConnection(proxy);
    other.write(`CONNECT ${authority} HTTP/1.1\r\nhost: x\r\n${credentialOf(proxy)}\r\n`);
    await waitUntil(() => lookups.length === 2);
    for (const answer of lookups) answer(['127.0.0.1']);
    expect(String(await once(other, 'data'))).toContain('200');
    other.write('GET /there HTTP/1.1\r\nhost: x\r\n\r\n');
    await once(other, 'data');
    expect(upstream.connections()).toBe(1);
    expect(upstream.seen.map(({ url }) => url)).toEqual(['/there']);
  });
});

async function aProxyFor(upstream: string, value: string): Promise<EgressProxy> {
  const proxy = await EgressProxy.open({ egress: { hosts: [] }, keys: [{ upstream, header: 'authorization', value }] });
  closers.push(() => proxy.close());
  return proxy;
}

/** A proxy that knows one name, `inner.test`, which is this machine. */
async function aProxyTo(port: number, resolve = async (): Promise<readonly string[]> => ['127.0.0.1']) {
  const hosts = [`inner.test:${port}`];
  const proxy = await EgressProxy.open({ egress: { hosts, privateHosts: hosts }, keys: [], resolve });
  closers.push(() => proxy.close());
  return proxy;
}

async function aConnection(proxy: EgressProxy): Promise<Socket> {
  const socket = connect(Number(new URL(proxy.url()).port), '127.0.0.1');
  socket.on('error', () => socket.destroy());
  await once(socket, 'connect');
  return socket;
}

function pathOf(proxy: EgressProxy, upstream: string): string {
  return new URL(proxy.upstreams()[upstream] ?? '').pathname;
}

function credentialOf(proxy: EgressProxy): string {
  const { username, password } = new URL(proxy.url());
  return `proxy-authorization: Basic ${btoa(`${username}:${password}`)}\r\n`;
}

function chunked(body: string): string {
  return `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
}

async function aServer() {
  const seen: { url: string | undefined; headers: IncomingHttpHeaders; body: string }[] = [];
  const server: Server = createServer(async (asked, answer) => {
    let body = '';
    for await (const part of asked) body += String(part);
    seen.push({ url: asked.url, headers: asked.headers, body });
    answer.write('first', () => setTimeout(() => answer.end('second'), 200));
  });
  let connections = 0;
  server.on('connection', () => {
    connections += 1;
  });
  const port = await portOf(server);
  closers.push(async () => server.closeAllConnections());
  return { port, seen, connections: () => connections };
}

async function portOf(server: NetServer): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(async () => server.close());
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
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
