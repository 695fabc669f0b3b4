import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import {
  csrfHeader,
  FarmError,
  isStorable,
  LoginRequest,
  loginPaths,
  PasswordRequest,
  type SessionReply,
} from '#contracts';
import { type BrowserSession, type Identity, invalidInput } from '#gate';
import type { LogIn } from './counted-login.js';
import { requireOwnPage, requireToken } from './own-page.js';
import { clearSessionCookie, cookieOf, setSessionCookie } from './session-cookie.js';

export interface LoginDoor {
  readonly identity: Identity;
  readonly publicUrl: () => string | undefined;
  readonly logIn: LogIn;
}

/** How a browser's page logs a person in and out. Before the gate, and no operations. */
export function authRoutes(scope: FastifyInstance, { identity, publicUrl, logIn }: LoginDoor): void {
  const { sessions } = identity.people;

  scope.post(loginPaths.login, async (request, reply) => {
    requireOwnPage(request, publicUrl());
    const { name, password, new_password: newPassword } = read(LoginRequest, request.body);
    const person = await logIn({ name, password, newPassword, address: request.ip });
    await endSession(request, identity);
    const { secret, session } = await sessions.openBrowser(person, clientOf(request));
    setSessionCookie(reply, identity, secret);
    return await reply.header('cache-control', 'no-store').send(replyOf(session));
  });

  scope.post(loginPaths.password, async (request, reply) => {
    requireOwnPage(request, publicUrl());
    const { name, password, new_password: newPassword } = read(PasswordRequest, request.body);
    await logIn({ name, password, newPassword, address: request.ip });
    return await reply.code(204).send();
  });

  scope.get(loginPaths.session, async (request, reply) => {
    const session = await sessionOf(request, identity);
    if (!session) throw new FarmError('unauthenticated');
    return await reply.header('cache-control', 'no-store').send(replyOf(session));
  });

  /** No body: the header says that it is meant. */
  scope.post(loginPaths.logout, async (request, reply) => {
    const session = await sessionOf(request, identity);
    if (session) {
      requireToken(request.headers[csrfHeader], session.csrfToken);
      await endSession(request, identity);
    }
    clearSessionCookie(reply, identity);
    return await reply.code(204).send();
  });
}

export async function sessionOf(request: FastifyRequest, identity: Identity): Promise<BrowserSession | undefined> {
  const secret = cookieOf(request, identity.cookies.session);
  return secret === undefined ? undefined : await identity.people.sessions.ofCookie(secret);
}

/** Who logs in anew or out leaves no old session behind. */
export async function endSession(request: FastifyRequest, identity: Identity): Promise<void> {
  const session = await sessionOf(request, identity);
  if (session) await identity.people.sessions.close(session);
}

/** What a browser calls itself. */
export function clientOf({ headers }: FastifyRequest): string {
  const agent = headers['user-agent'] ?? '';
  return isStorable(agent) ? agent : '';
}

function replyOf({ person, csrfToken, expiresAt }: BrowserSession): SessionReply {
  const { id, name, role, session } = person;
  return {
    person: { id, name, role },
    session_id: session,
    csrf_token: csrfToken,
    expires_at: expiresAt.toISOString(),
  };
}

function read<T extends z.ZodType>(schema: T, body: unknown): z.output<T> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw invalidInput(schema, parsed.error.issues);
}
