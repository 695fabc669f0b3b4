import type { IncomingHttpHeaders } from 'node:http';

/** What a request of the 2026 revision says twice, in its body and for proxies in its headers (S1.2). */
export interface SaidTwice {
  readonly revision: string;
  readonly method: string;
  /** Of tools/call; nothing where the body names no tool. */
  readonly name: string | undefined;
}

/** Whether the headers are there and say what the body says. */
export function headersAgree(headers: IncomingHttpHeaders, { revision, method, name }: SaidTwice): boolean {
  if (trimmed(headers['mcp-protocol-version']) !== revision) return false;
  if (trimmed(headers['mcp-method']) !== method) return false;
  return name === undefined || decoded(trimmed(headers['mcp-name'])) === name;
}

function trimmed(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' ? value.replace(/^[\t ]+|[\t ]+$/g, '') : undefined;
}

/** A value that no header can carry comes as `=?base64?…?=`. */
function decoded(value: string | undefined): string | undefined {
  const [, base64] = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/i.exec(value ?? '') ?? [];
  return base64 === undefined ? value : Buffer.from(base64, 'base64').toString();
}
