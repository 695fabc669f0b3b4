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

export function carriedOn(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  const named = new Set((headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase()));
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || ofOneConnection.has(name) || named.has(name) ? [] : [[name, value]],
    ),
  );
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
  403: 'This host is not on the egress list of this sandbox.',
  404: 'There is nothing here.',
  407: 'Whose proxy this is does not know you.',
  502: 'The host could not be reached.',
};

export function refuse(response: ServerResponse, status: number): void {
  if (response.headersSent) return void response.destroy();
  response.writeHead(status, { 'content-type': 'text/plain', connection: 'close' });
  response.end(`longshore: ${words[status] ?? ''}\n`);
}

export function refuseTunnel(client: Duplex, status: number): void {
  const text = `longshore: ${words[status] ?? ''}\n`;
  const reason = { 403: 'Forbidden', 407: 'Proxy Authentication Required' }[status] ?? 'Bad Gateway';
  client.end(
    `HTTP/1.1 ${status} ${reason}\r\ncontent-type: text/plain\r\ncontent-length: ${text.length}\r\nconnection: close\r\n\r\n${text}`,
  );
}
