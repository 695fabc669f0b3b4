import { randomBytes } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { errorCodes, LoginRequest } from '#contracts';
import type { Identity } from '#gate';
import { refusalOf } from '../problem.js';
import { showPage } from '../show-page.js';
import { clientOf, endSession } from './auth-routes.js';
import type { LogIn } from './counted-login.js';
import { requireToken } from './own-page.js';
import { loginPage } from './pages.js';
import { cookieOf, setFormCookie, setSessionCookie } from './session-cookie.js';

/** A page of ours that asks for a login. */
export interface LoginPlace {
  /** Where its form goes. */
  readonly action: string;
  /** What the form must bring along again. */
  readonly kept: Readonly<Record<string, string>>;
  /** Where one stands afterwards. */
  readonly next: string;
}

/** Fields of the login's form, among others of its page. */
export const loginFields = {
  csrf: z.string().max(256).default(''),
  name: z.string().default(''),
  password: z.string().default(''),
  new_password: z.string().optional(),
} as const;
type LoginForm = z.output<z.ZodObject<typeof loginFields>>;

const newPasswordNote = 'The new password has at least 12 characters and is neither the old one nor the name.';

interface Checking {
  readonly identity: Identity;
  readonly check: LogIn;
}

/** Opens the session of a browser, or shows the form again and says why not. */
export async function logInByPage(
  request: FastifyRequest,
  reply: FastifyReply,
  { identity, check }: Checking,
  place: LoginPlace,
  form: LoginForm,
): Promise<FastifyReply> {
  requireToken(form.csrf, formToken(identity, cookieOf(request, identity.cookies.form)));
  const { name, password, new_password } = form;
  const choosing = new_password !== undefined;
  const asked = LoginRequest.safeParse({ name, password, ...(choosing && { new_password }) });
  if (!asked.success)
    return showLogin(request, reply, identity, place, { name, choosing, note: newPasswordNote, status: 422 });
  try {
    const person = await check({ name, password, newPassword: new_password, address: request.ip });
    await endSession(request, identity);
    const { secret } = await identity.people.sessions.openBrowser(person, clientOf(request));
    setSessionCookie(reply, identity, secret);
    return await reply.redirect(place.next, 303);
  } catch (error) {
    const failure = refusalOf(error);
    const { code, detail, retryAfterMs } = failure;
    if (code === 'internal') throw error;
    if (retryAfterMs !== undefined) reply.header('retry-after', Math.ceil(retryAfterMs / 1000));
    const isSetup = code === 'password_change_required';
    const note = code === 'invalid_input' ? newPasswordNote : detail;
    const { status } = errorCodes[code];
    return showLogin(request, reply, identity, place, { name, choosing: choosing || isSetup, note, status });
  }
}

interface LoginShown {
  readonly name?: string;
  readonly choosing?: boolean;
  readonly note?: string;
  readonly status?: number;
}

export function showLogin(
  request: FastifyRequest,
  reply: FastifyReply,
  identity: Identity,
  { action, kept }: LoginPlace,
  { name = '', choosing = false, note, status = 200 }: LoginShown = {},
): FastifyReply {
  const known = cookieOf(request, identity.cookies.form);
  const secret = known !== undefined && /^[\w-]{43}$/.test(known) ? known : randomBytes(32).toString('base64url');
  setFormCookie(reply, identity, secret);
  const csrf = formToken(identity, secret);
  return showPage(reply, loginPage({ csrf, action, kept, name, choosing, note }), status);
}

/** What a form before the login carries: no other browser's form has it, and no other site can read it. */
function formToken(identity: Identity, secret: string | undefined): string {
  return identity.people.seal(`form\n${secret ?? randomBytes(32).toString('base64url')}`);
}
