import { fastifyCookie } from '@fastify/cookie';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { limits } from '#contracts';
import type { Identity } from '#gate';

/** Cookies are read where one is asked for, not at each call of a worker. */
export function readCookies(instance: FastifyInstance): void {
  instance.register(fastifyCookie, { hook: false });
}

/** The value of a cookie of ours; nothing where there is none. */
export function cookieOf(request: FastifyRequest, name: string): string | undefined {
  const { cookie } = request.headers;
  return cookie === undefined ? undefined : request.server.parseCookie(cookie)[name];
}

/** The session's secret: no script reads it, no other site's form sends it, and over https nothing in between sees it. */
export function setSessionCookie(reply: FastifyReply, { cookies }: Identity, secret: string): void {
  set(reply, cookies.session, secret, {
    secure: cookies.secure,
    sameSite: 'lax',
    maxAge: limits.browserSessionSeconds,
  });
}

export function clearSessionCookie(reply: FastifyReply, { cookies }: Identity): void {
  set(reply, cookies.session, '', { secure: cookies.secure, sameSite: 'lax', maxAge: 0 });
}

/** Ties a form that was shown before the login to the browser that it was shown to. */
export function setFormCookie(reply: FastifyReply, { cookies }: Identity, secret: string): void {
  set(reply, cookies.form, secret, { secure: cookies.secure, sameSite: 'strict', maxAge: 3_600 });
}

interface How {
  readonly secure: boolean;
  readonly sameSite: 'lax' | 'strict';
  readonly maxAge: number;
}

/** Path `/` and no domain: what the prefix `__Host-` asks for. */
function set(reply: FastifyReply, name: string, value: string, how: How): void {
  reply.setCookie(name, value, { ...how, httpOnly: true, path: '/' });
}
