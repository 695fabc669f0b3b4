import { randomBytes, timingSafeEqual } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { closedAddress, FarmError, limits } from '#contracts';
import { type Destination, destinationOf, EgressList } from './egress-list.js';
import { carriedOn, pass, refuse, refuseTunnel } from './proxy-passing.js';
import type { EgressRules, HeldKey } from './rules.js';
import type { SocketPlace } from './sandbox-folder.js';

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
  private readonly open = new Set<Duplex>();
  private readonly credential: string | undefined;

  private constructor(private readonly needs: ProxyNeeds) {
    this.list = new EgressList(needs.egress.hosts);
    this.privateNames = new EgressList(needs.egress.privateHosts ?? []);
    this.credential = needs.place === undefined ? randomBytes(24).toString('hex') : undefined;
    this.server = createServer((request, response) => void this.serve(request, response));
    this.server.requestTimeout = 0;
    this.server.on('connect', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      void this.tunnel(request, socket, head);
    });
    this.server.on('connection', (socket) => this.hold(socket));
    this.server.on('clientError', (_error, socket) => socket.destroy());
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
      for (const socket of this.open) socket.destroy();
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
    const upstream = connect({ host: address, port: wanted.port, noDelay: true });
    this.hold(upstream);
    upstream.setTimeout(limits.egressConnectMs, () => upstream.destroy());
    upstream.once('connect', () => {
      upstream.setTimeout(0);
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.write(head);
      upstream.pipe(client);
      client.pipe(upstream);
    });
    upstream.once('error', () => (upstream.connecting ? refuseTunnel(client, 502) : client.destroy()));
    upstream.once('close', () => client.destroy());
    client.once('close', () => upstream.destroy());
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.on('error', () => response.destroy());
    response.on('error', () => request.destroy());
    if (request.url?.startsWith('/') === true) return this.toUpstream(request, response);
    if (!this.isKnown(request)) return refuse(response, 407);
    const url = URL.canParse(request.url ?? '') ? new URL(request.url ?? '') : undefined;
    const wanted = url?.protocol === 'http:' ? destinationOf(url.host, 80) : undefined;
    const address = wanted === undefined ? undefined : await this.addressOf(wanted);
    if (url === undefined || wanted === undefined || address === undefined) return refuse(response, 403);
    const headers = { ...carriedOn(request.headers), host: url.host };
    const { method } = request;
    pass(
      request,
      response,
      httpRequest({ host: address, port: wanted.port, method, path: url.pathname + url.search, headers, agent: false }),
    );
  }

  /** `/<credential or "upstream">/<key>/…`: the key is added, whatever the caller sent in its place. */
  private toUpstream(request: IncomingMessage, response: ServerResponse): void {
    const [, word = '', index = '', rest = ''] = /^\/([^/]*)\/(\d{1,3})(.*)$/s.exec(request.url ?? '') ?? [];
    const key = this.needs.keys[Number(index)];
    if (key === undefined || !isSame(word, this.credential ?? 'upstream')) {
      refuse(response, 404);
      return;
    }
    const upstream = new URL(key.upstream);
    // dots and doubled slashes stay as they are sent: the upstream's own path is put in front, and nothing can climb out of a host
    const path = `${upstream.pathname.replace(/\/$/, '')}${rest === '' || rest.startsWith('?') ? `/${rest}` : rest}`;
    const headers = carriedOn(request.headers);
    headers.host = upstream.host;
    for (const name of keyHeaders) delete headers[name];
    for (const held of this.needs.keys) {
      if (held.upstream === key.upstream) headers[held.header.toLowerCase()] = held.value;
    }
    const send = upstream.protocol === 'https:' ? httpsRequest : httpRequest;
    const { method } = request;
    pass(
      request,
      response,
      send({ host: unbracketed(upstream.hostname), port: upstream.port || undefined, method, path, headers }),
    );
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

  private hold(socket: Socket): void {
    this.open.add(socket);
    socket.once('close', () => this.open.delete(socket));
  }
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
