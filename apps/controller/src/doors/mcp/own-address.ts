import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';

/** Names that this controller goes by. */
export interface OwnAddress {
  readonly publicUrl: string | undefined;
  /** Where it listens. */
  readonly host: string;
}

/**
 * Whether a request was meant for this controller and by no web page of another: a browser that was led here by a rebound name shows
 * that name as Host, and a page shows its Origin (S1.5). An address can not be rebound.
 */
export function isForUs({ host, origin }: IncomingHttpHeaders, own: OwnAddress): boolean {
  const asked = host === undefined ? undefined : urlOf(`http://${host}`);
  if (!asked || !isOwnName(asked.hostname, own)) return false;
  return origin === undefined || isOwnOrigin(origin, asked.host, own);
}

function isOwnName(hostname: string, { publicUrl, host }: OwnAddress): boolean {
  if (hostname === 'localhost' || hostname === host || isIP(hostname.replace(/^\[|\]$/g, '')) !== 0) return true;
  return publicUrl !== undefined && urlOf(publicUrl)?.hostname === hostname;
}

function isOwnOrigin(origin: string, host: string, { publicUrl }: OwnAddress): boolean {
  const from = urlOf(origin);
  if (!from || from.origin !== origin) return false;
  return from.host === host || (publicUrl !== undefined && urlOf(publicUrl)?.origin === origin);
}

function urlOf(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}
