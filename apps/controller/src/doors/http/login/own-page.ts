import { timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { FarmError } from '#contracts';

/**
 * A browser says where a form or a script stands. Errors: FarmError csrf_refused for another site's. Programs say nothing and
 * bring no cookie that they did not mean.
 */
export function requireOwnPage({ headers }: FastifyRequest, publicUrl: string | undefined): void {
  const { origin, host } = headers;
  const site = headers['sec-fetch-site'];
  const own = [host, publicUrl === undefined ? undefined : new URL(publicUrl).host];
  const isOwnSite = site === undefined || site === 'same-origin' || site === 'none';
  const isOwnOrigin = origin === undefined || (URL.canParse(origin) && own.includes(new URL(origin).host));
  if (!isOwnSite || !isOwnOrigin) throw new FarmError('csrf_refused', 'The call comes from a page of another site');
}

/** Errors: FarmError csrf_refused. */
export function requireToken(given: unknown, expected: string): void {
  const text = Buffer.from(typeof given === 'string' ? given : '');
  const wanted = Buffer.from(expected);
  if (text.length === wanted.length && timingSafeEqual(text, wanted)) return;
  throw new FarmError('csrf_refused', undefined, {
    hint: 'Read the token of the session by GET /auth/session and send it along.',
  });
}
