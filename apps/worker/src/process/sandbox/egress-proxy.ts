import { randomBytes, timingSafeEqual } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import type { EventEmitter } from 'node:events';
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
  type Server,
  type ServerResponse,
} from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { closedAddress, FarmError, limits } from '#contracts';
import { type Destination, destinationOf, EgressList } from './egress-list.js';
import { carriedOn, framingOf, pass, passedMethods, refuse, refuseTunnel } from './proxy-passing.js';
import type { EgressRules, HeldKey } from './rules.js';
import type { SocketPlace } from './sandbox-folder.js';

/** A connection to the proxy or onward, or a request onward whose connection is its own. */
type Held = EventEmitter & { destroy(): unknown };

interface ProxyNeeds {
  readonly egress: EgressRules;
  readonly keys: readonly HeldKey[];
  /** A unix socket, whose reach is its protection; without it a port of loopback and a credential. */
  readonly place?: SocketPlace;
  readonly onRefused?: (host: string) => void;
  /** The addresses of a name; the machine's own resolver by default. */
  readonly resolve?: (host: string) => Promise<readonly string[]>;
}

/**
 * The only road out of a sandbox: HTTP CONNECT and plain http to the hosts of the list, and for held keys a base URL whose
 * requests go on to the key's upstream with the key added (H35). Names are resolved here, once: the address that was looked at is
 * the address that is called, so that no name leads to this machine, a private network or a metadata service.
 */
export class EgressProxy {
  private readonly list: EgressList;
  private readonly privateNames: EgressList;
  private readonly server: Server;
  /** What is open, and for what goes onward the connection that asked for it. */
  private readonly open = new Map<Held, Held | undefined>();
  private readonly credential: string | undefined;

  private constructor(private readonly needs: ProxyNeeds) {
    this.list = new EgressList(needs.egress.hosts);
    this.privateNames = new EgressList(needs.egress.privateHosts ?? []);
    this.credential = needs.place === undefined ? randomBytes(24).toString('hex') : undefined;
    this.server = createServer((request, response) => {
      this.serve(request, response).catch(() => response.destroy());
    });
    this.server.requestTimeout = 0;
    this.server.maxConnections = limits.egressConnections;
    this.server.on('connect', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      this.tunnel(request, socket, head).catch(() => socket.destroy());
    });
    this.server.on('connection', (socket) => (this.isFull() ? socket.destroy() : this.hold(socket)));
    this.server.on('clientError', (_error, socket) => refuseTunnel(socket, 400));
  }

  static async open(needs: ProxyNeeds): Promise<EgressProxy> {
    const proxy = new EgressProxy(needs);
    await new Promise<void>((resolve, reject) => {
      proxy.server.once('error', reject);
      if (needs.place === undefined) proxy.server.listen(0, '127.0.0.1', resolve);
      else proxy.server.listen(needs.place.path, resolve);
    });
    return proxy;
  }

  /** The proxy as its clients name it, where it has a port of its own. Holds its credential. */
  url(port: number | undefined = undefined): string {
    if (this.credential === undefined) return `http://127.0.0.1:${port ?? 0}`;
    return `http://longshore:${this.credential}@127.0.0.1:${this.ownPort}`;
  }

  /** Base URL of each key's upstream. */
  upstreams(port: number | undefined = undefined): Readonly<Record<string, string>> {
    const base = `http://127.0.0.1:${this.credential === undefined ? (port ?? 0) : this.ownPort}`;
    return Object.fromEntries(
      this.needs.keys.map(({ upstream }, index) => [upstream, `${base}/${this.credential ?? 'upstream'}/${index}`]),
    );
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.server.close(() => resolve());
      this.server.closeAllConnections();
      for (const held of this.open.keys()) held.destroy();
    });
    await this.needs.place?.release();
  }

  private get ownPort(): number {
    const address = this.server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  private async tunnel(request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    client.on('error', () => client.destroy());
    if (!this.isKnown(request)) return refuseTunnel(client, 407);
    const wanted = destinationOf(request.url);
    const address = wanted === undefined ? undefined : await this.addressOf(wanted);
    if (wanted === undefined || address === undefined) return refuseTunnel(client, 403);
    // who asked may be gone since the look-up: nothing would end what is opened now
    if (client.destroyed) return;
    if (this.isFull()) return refuseTunnel(client, 503);
    const upstream = connect({ host: address, port: wanted.port, noDelay: true });
    this.hold(upstream, client);
    upstream.setTimeout(limits.egressConnectMs, () => upstream.destroy());
    let connected = false;
    upstream.once('connect', () => {
      connected = true;
      upstream.setTimeout(0);
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.write(head);
      upstream.pipe(client);
      client.pipe(upstream);
    });
    upstream.on('error', () => upstream.destroy());
    // who asked hears why, also where the time to connect ran out
    upstream.once('close', () => (connected ? client.destroy() : refuseTunnel(client, 502)));
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.on('error', () => response.destroy());
    response.on('error', () => request.destroy());
    if (!passedMethods.has(request.method ?? '')) return refuse(response, 405);
    if (request.url?.startsWith('/') === true) return this.toUpstream(request, response);
    if (!this.isKnown(request)) return refuse(response, 407);
    const url = URL.canParse(request.url ?? '') ? new URL(request.url ?? '') : undefined;
    const wanted = url?.protocol === 'http:' ? destinationOf(url.host, 80) : undefined;
    const address = wanted === undefined ? undefined : await this.addressOf(wanted);
    if (url === undefined || wanted === undefined || address === undefined) return refuse(response, 403);
    const headers = { ...carriedOn(request.headers), host: url.host };
    const path = url.pathname + url.search;
    this.send(request, response, httpRequest, { host: address, port: wanted.port, path, headers });
  }

  /** `/<credential or "upstream">/<key>/…`: the key is added, whatever the caller sent in its place. */
  private toUpstream(request: IncomingMessage, response: ServerResponse): void {
    const [, word = '', index = '', rest = ''] = /^\/([^/]*)\/(\d{1,3})((?:[/?].*)?)$/s.exec(request.url ?? '') ?? [];
    const key = this.needs.keys[Number(index)];
    if (key === undefined || !isSame(word, this.credential ?? 'upstream')) {
      refuse(response, 404);
      return;
    }
    const upstream = new URL(key.upstream);
    const path = pathBelow(upstream, rest);
    if (path === undefined) {
      refuse(response, 400);
      return;
    }
    const headers = carriedOn(request.headers);
    headers.host = upstream.host;
    for (const name of keyHeaders) delete headers[name];
    for (const held of this.needs.keys) {
      if (held.upstream === key.upstream) headers[held.header.toLowerCase()] = held.value;
    }
    const ask = upstream.protocol === 'https:' ? httpsRequest : httpRequest;
    const host = unbracketed(upstream.hostname);
    this.send(request, response, ask, { host, port: upstream.port || undefined, path, headers });
  }

  /** Every request on a connection of its own: on a shared one a session could leave something for the next one's key. */
  private send(
    request: IncomingMessage,
    response: ServerResponse,
    ask: typeof httpRequest,
    { headers, ...to }: Pick<RequestOptions, 'host' | 'port' | 'path'> & { readonly headers: PassedHeaders },
  ): void {
    // who asked may be gone since the look-up: nothing would end what is opened now
    if (request.socket.destroyed) return;
    const framing = framingOf(request);
    if (framing === undefined || this.isFull()) {
      refuse(response, framing === undefined ? 400 : 503);
      return;
    }
    const { method } = request;
    const onward = ask({ ...to, method, headers: { ...headers, ...framing }, agent: false });
    this.hold(onward, request.socket);
    pass(request, response, onward);
  }

  /** The address to call, or nothing: not on the list, not to be resolved, or one of its addresses is closed. */
  private async addressOf(wanted: Destination): Promise<string | undefined> {
    if (!this.list.allows(wanted)) return this.refused(wanted);
    const addresses = await (this.needs.resolve ?? resolveName)(wanted.host).catch(() => []);
    const isPrivate = this.privateNames.allows(wanted);
    // one closed address among open ones is a name that somebody turns
    if (!isPrivate && addresses.some((address) => closedAddress(address) !== undefined)) return this.refused(wanted);
    return addresses[0];
  }

  private refused({ host }: Destination): undefined {
    this.needs.onRefused?.(host.slice(0, 255));
    return undefined;
  }

  private isKnown({ headers }: IncomingMessage): boolean {
    if (this.credential === undefined) return true;
    const [kind, value = ''] = (headers['proxy-authorization'] ?? '').split(' ');
    return kind === 'Basic' && isSame(Buffer.from(value, 'base64').toString(), `longshore:${this.credential}`);
  }

  private isFull(): boolean {
    return this.open.size >= limits.egressConnections;
  }

  /** What goes onward ends with the connection that asked, also where an answer still waits behind another (pipelining). */
  private hold(held: Held, asker?: Held): void {
    this.open.set(held, asker);
    held.once('close', () => {
      this.open.delete(held);
      for (const [onward, client] of this.open) if (client === held) onward.destroy();
    });
  }
}

type PassedHeaders = Readonly<Record<string, string | string[]>>;

/** Path and query of what was asked for below a key's upstream; undefined where it climbs out of it. */
function pathBelow(upstream: URL, rest: string): string | undefined {
  const base = upstream.pathname.replace(/\/$/, '');
  const asked = `${upstream.origin}${base}${rest.startsWith('/') ? rest : `/${rest}`}`;
  if (!URL.canParse(asked)) return undefined;
  const { origin, pathname, search } = new URL(asked);
  return origin === upstream.origin && pathname.startsWith(`${base}/`) ? pathname + search : undefined;
}

async function resolveName(host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true, order: 'verbatim' })).map(({ address }) => address);
}

/** Where clients put a key: theirs is a stand-in and goes nowhere. */
const keyHeaders = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key'];

function isSame(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}

function unbracketed(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '');
}

/** @throws FarmError `misconfigured` where a key's upstream is no http address */
export function requireUpstreams(keys: readonly HeldKey[]): void {
  for (const { upstream } of keys) {
    if (URL.canParse(upstream) && /^https?:$/.test(new URL(upstream).protocol)) continue;
    throw new FarmError('misconfigured', 'The upstream of a held key is not an http address.', {
      hint: 'Correct the base URL of the account in the worker’s configuration.',
    });
  }
}
