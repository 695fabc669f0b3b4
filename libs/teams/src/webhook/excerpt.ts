import type { Readable } from 'node:stream';
import { limits, utf8Length } from '#contracts';

/** Shorter parts of a URL are words and no secrets. */
const shortestSecret = 8;

/**
 * The beginning of what a receiver said, in one line, for whoever may look at the queue; the rest is not read. Receivers like to say
 * again what they were sent ("Cannot POST /…"): what stands in `hidden` is masked, also where the cut goes through it (H41).
 */
export async function excerptOf(body: Readable, hidden: readonly string[]): Promise<string> {
  const longest = Math.max(0, ...hidden.map(utf8Length));
  const text = new TextDecoder().decode(await beginningOf(body, limits.webhookExcerptBytes + longest));
  const masked = [...hidden]
    .sort((a, b) => b.length - a.length)
    .reduce((said, secret) => said.replaceAll(secret, '*'.repeat(secret.length)), text);
  const cut = new TextDecoder().decode(new TextEncoder().encode(masked).subarray(0, limits.webhookExcerptBytes));
  return cut.replaceAll(/[\p{C}\p{Zl}\p{Zp}\s]+/gu, ' ').trim();
}

/** A URL may open what is behind it: its path and query, whole and in parts, as they are written and as they are read. */
export function secretsOfUrl(href: string): readonly string[] {
  const { pathname, search, searchParams } = new URL(href);
  const parts = [`${pathname}${search}`, pathname, ...pathname.split('/'), ...search.slice(1).split('&')];
  const values = [...searchParams.values(), ...parts.map(decoded)];
  return [...new Set([...parts, ...values])].filter((part) => part.length >= shortestSecret);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

async function beginningOf(body: Readable, bytes: number): Promise<Uint8Array> {
  let read = Buffer.alloc(0);
  try {
    for await (const chunk of body) {
      if (chunk instanceof Uint8Array) read = Buffer.concat([read, chunk]);
      if (read.length >= bytes) break;
    }
  } catch {
    // It broke off; the status was said.
  }
  return read.subarray(0, bytes);
}
