import type { ClientRequest, IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { limits } from '#contracts';

/** What belongs to one connection is not passed on (RFC 9110, 7.6.1). */
const ofOneConnection = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** What says where a message begins and ends: no `Connection` header takes it away. */
const ofTheMessage = new Set(['content-length', 'host', 'transfer-encoding']);

export function carriedOn(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  const named = new Set((headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase()));
  for (const name of ofTheMessage) named.delete(name);
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || ofOneConnection.has(name) || named.has(name) ? [] : [[name, value]],
    ),
  );
}

/** What an API or a registry is asked with. TRACE is not among them: its answer holds all headers, and a key that we added. */
export const passedMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** A request of these without a body says nothing of its length (RFC 9110, 8.6). */
const bodiless = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS']);

/**
 * How a request is framed on its way, said outright for every method: left to Node, the body of a GET goes on raw and the upstream
 * takes it for the next request. Undefined where the caller's own framing is not plain.
 */
export function framingOf({ headers, method }: IncomingMessage): Readonly<Record<string, string>> | undefined {
  const { 'transfer-encoding': coding, 'content-length': length } = headers;
  if (coding !== undefined) {
    return coding.toLowerCase() === 'chunked' && length === undefined ? { 'transfer-encoding': 'chunked' } : undefined;
  }
  if (length !== undefined) return /^\d+$/.test(length) ? { 'content-length': length } : undefined;
  return bodiless.has(method ?? '') ? {} : { 'content-length': '0' };
}

export function pass(request: IncomingMessage, response: ServerResponse, onward: ClientRequest): void {
  onward.setTimeout(limits.silenceMs, () => onward.destroy());
  onward.once('response', (answer) => {
    response.writeHead(answer.statusCode ?? 502, carriedOn(answer.headers));
    response.flushHeaders();
    answer.on('error', () => response.destroy());
    answer.pipe(response);
  });
  onward.once('error', () => (response.headersSent ? response.destroy() : refuse(response, 502)));
  response.once('close', () => onward.destroy());
  request.pipe(onward);
}

const words: Readonly<Record<number, string>> = {
  400: 'This request cannot be passed on.',
  403: 'This host is not on the egress list of this sandbox.',
  404: 'There is nothing here.',
  405: 'This method is not passed on.',
  407: 'Whose proxy this is does not know you.',
  502: 'The host could not be reached.',
  503: 'This session has too many connections open.',
};

export function refuse(response: ServerResponse, status: number): void {
  if (response.headersSent) return void response.destroy();
  response.writeHead(status, { 'content-type': 'text/plain', connection: 'close' });
  response.end(`longshore: ${words[status] ?? ''}\n`);
}

const reasons: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  403: 'Forbidden',
  407: 'Proxy Authentication Required',
  503: 'Service Unavailable',
};

export function refuseTunnel(client: Duplex, status: number): void {
  if (!client.writable) return void client.destroy();
  // what it sends yet is of no use, but its end is waited for
  client.resume();
  const text = `longshore: ${words[status] ?? ''}\n`;
  const reason = reasons[status] ?? 'Bad Gateway';
  client.end(
    `HTTP/1.1 ${status} ${reason}\r\ncontent-type: text/plain\r\ncontent-length: ${text.length}\r\nconnection: close\r\n\r\n${text}`,
  );
}
