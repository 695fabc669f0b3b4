import { createReadStream } from 'node:fs';
import type { FastifyReply, FastifyRequest } from 'fastify';

interface FileToSend {
  readonly path: string;
  readonly size: number;
}

/** Sends a file, or from a byte on: a broken download goes on where it stopped (RFC 9110, one range). */
export function sendFile(request: FastifyRequest, reply: FastifyReply, { path, size }: FileToSend): FastifyReply {
  reply.header('content-type', 'application/octet-stream').header('accept-ranges', 'bytes');
  const asked = request.headers.range;
  if (asked === undefined) return reply.header('content-length', size).send(createReadStream(path));
  const range = rangeOf(asked, size);
  if (range === undefined) return reply.code(416).header('content-range', `bytes */${size}`).send();
  const { start, end } = range;
  return reply
    .code(206)
    .header('content-range', `bytes ${start}-${end}/${size}`)
    .header('content-length', end - start + 1)
    .send(createReadStream(path, { start, end }));
}

function rangeOf(header: string, size: number): { readonly start: number; readonly end: number } | undefined {
  const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(header) ?? [];
  if (from === undefined) return undefined;
  const start = Number(from);
  const end = to === undefined || to === '' ? size - 1 : Math.min(Number(to), size - 1);
  return start <= end ? { start, end } : undefined;
}
