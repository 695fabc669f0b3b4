import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { ListenOptions } from 'node:net';
import { isJSONRPCRequest } from '@modelcontextprotocol/sdk/types.js';
import { FarmError, limits } from '#contracts';
import { faultOf, type Log } from '../log.js';
import { memberDoorPort, openSocketPlace, type SocketPlace, socketNames } from '../process/sandbox/index.js';
import type { MemberDoor } from '../provider/port.js';
import { DoorTransport } from './door-transport.js';
import { type DoorCalls, memberServer } from './member-server.js';
import { readMessages } from './read-messages.js';

const doorPath = '/_internal/node/mcp';

/** Where the door stands: a unix socket that is relayed into a sandbox, or loopback under a random port where there is none. */
type DoorPlace = { readonly kind: 'loopback' } | { readonly kind: 'sandbox'; readonly ownFolder: string };

/**
 * The MCP endpoint of one Dispatch, for whoever has its token (H34). Host and Origin are checked, so that no web page of this
 * machine's browser gets in. Stateless: each request stands for itself, plain JSON answers.
 */
export class LocalMemberDoor {
  private constructor(
    private readonly server: Server,
    readonly door: MemberDoor,
    private readonly socket: SocketPlace | undefined,
    private readonly mcp: DoorTransport,
  ) {}

  static async open(calls: DoorCalls, log: Log, place: DoorPlace = { kind: 'loopback' }): Promise<LocalMemberDoor> {
    const token = randomBytes(32).toString('base64url');
    const mcp = new DoorTransport();
    await memberServer(calls, log).connect(mcp);
    let host = `127.0.0.1:${memberDoorPort}`;
    const server = createServer((request, response) => {
      answer(request, response, { mcp, token, host }).catch((error: unknown) => {
        // who asked is gone
        if (response.destroyed) return;
        log.error({ fault: faultOf(error) }, 'the member door failed');
        refuse(response, 500, 'internal');
      });
    });
    // a call may wait for the farm longer than any default
    server.requestTimeout = 0;
    server.keepAliveTimeout = 60_000;
    // a session cannot use up the worker's descriptors
    server.maxConnections = limits.memberDoorConnections;
    let socket: SocketPlace | undefined;
    if (place.kind === 'sandbox') {
      socket = await openSocketPlace(place.ownFolder, socketNames.memberDoor);
      await listen(server, { path: socket.path });
    } else {
      await listen(server, { port: 0, host: '127.0.0.1' });
      const address = server.address();
      if (address === null || typeof address === 'string')
        throw new FarmError('internal', 'The member door has no port.');
      host = `127.0.0.1:${address.port}`;
    }
    return new LocalMemberDoor(server, { url: `http://${host}${doorPath}`, token }, socket, mcp);
  }

  /** Ends what is open: after the session nobody calls any more. */
  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.server.close(() => resolve());
      this.server.closeAllConnections();
    });
    await this.mcp.close();
    await this.socket?.release();
  }
}

function listen(server: Server, where: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(where, resolve);
  });
}

interface Answering {
  readonly mcp: DoorTransport;
  readonly token: string;
  /** As callers name it. */
  readonly host: string;
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { mcp, token, host }: Answering,
): Promise<void> {
  const { origin } = request.headers;
  if (request.headers.host !== host || (origin !== undefined && origin !== `http://${host}`))
    return refuse(response, 403, 'not_allowed');
  if (!isBearer(request.headers.authorization, token)) return refuse(response, 401, 'unauthenticated');
  if (request.url !== doorPath) return refuse(response, 404, 'not_found');
  if (request.method !== 'POST') return refuse(response, 405, 'not_available', { allow: 'POST' });
  const read = await readMessages(request);
  if (!read.ok) return refuse(response, read.status, read.code, { connection: 'close' });
  const requests = read.messages.filter(isJSONRPCRequest);
  if (requests.length === 0) return void response.writeHead(202).end();
  const answers = await Promise.all(requests.map((asked) => mcp.ask(asked)));
  const body = JSON.stringify(read.isBatch ? answers : answers[0]);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }).end(body);
}

/** Compared as hashes: neither content nor length shows in the time. */
function isBearer(authorization: string | undefined, token: string): boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(hash(authorization ?? ''), hash(`Bearer ${token}`));
}

function refuse(
  response: ServerResponse,
  status: number,
  code: string,
  more: Readonly<Record<string, string>> = {},
): void {
  if (response.headersSent) return void response.end();
  response.writeHead(status, { 'content-type': 'application/json', ...more });
  response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32_000, message: code } }));
}
