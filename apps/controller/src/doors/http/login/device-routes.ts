import { randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { errorCodes, FarmError, LoginRequest, loginPaths } from '#contracts';
import type { BrowserSession, Identity } from '#gate';
import { refusalOf } from '../problem.js';
import { clientOf, endSession, type LoginDoor, sessionOf } from './auth-routes.js';
import type { LogIn } from './counted-login.js';
import { requireOwnPage, requireToken } from './own-page.js';
import { approvalPage, codePage, donePage, loginPage, pageHeaders, refusedPage } from './pages.js';
import { clearSessionCookie, cookieOf, setFormCookie, setSessionCookie } from './session-cookie.js';

const userCode = z.string().max(64).catch('');
const Query = z.object({ user_code: userCode });
const Form = z.object({
  action: z.enum(['login', 'approve', 'deny', 'logout']),
  csrf: z.string().max(256).default(''),
  user_code: userCode.default(''),
  name: z.string().default(''),
  password: z.string().default(''),
  new_password: z.string().optional(),
});
type Form = z.output<typeof Form>;

const newPasswordNote = 'The new password has at least 12 characters and is neither the old one nor the name.';

export interface PageDoor extends LoginDoor {
  readonly onFault: (error: unknown) => void;
}

/** The page where a person lets a command line in. Looking changes nothing; a form decides, and says where it stands. */
export function deviceRoutes(scope: FastifyInstance, { identity, publicUrl, logIn: check, onFault }: PageDoor): void {
  scope.setErrorHandler((error, _request, reply) => {
    const failure = refusalOf(error);
    if (failure.code === 'internal') onFault(failure);
    if (failure.retryAfterMs !== undefined) reply.header('retry-after', Math.ceil(failure.retryAfterMs / 1000));
    return show(reply, refusedPage(failure.detail), errorCodes[failure.code].status);
  });

  scope.get(loginPaths.device, async (request, reply) => {
    const { user_code } = Query.parse(request.query);
    const session = await sessionOf(request, identity);
    if (!session) return showLogin(request, reply, identity, { userCode: user_code });
    return await showCode(reply, identity, session, user_code);
  });

  scope.post(loginPaths.device, async (request, reply) => {
    requireOwnPage(request, publicUrl());
    const form = Form.safeParse(request.body);
    if (!form.success) throw new FarmError('invalid_input', 'The form is not one of this page');
    if (form.data.action === 'login') return await logIn(request, reply, { identity, check }, form.data);
    const session = await sessionOf(request, identity);
    if (!session) return showLogin(request, reply, identity, { userCode: form.data.user_code });
    requireToken(form.data.csrf, session.csrfToken);
    if (form.data.action === 'logout') {
      await identity.people.sessions.close(session);
      clearSessionCookie(reply, identity);
      return await reply.redirect(loginPaths.device, 303);
    }
    return await decide(reply, identity, session, form.data);
  });
}

interface Checking {
  readonly identity: Identity;
  readonly check: LogIn;
}

async function logIn(request: FastifyRequest, reply: FastifyReply, { identity, check }: Checking, form: Form) {
  requireToken(form.csrf, formToken(identity, cookieOf(request, identity.cookies.form)));
  const { name, password, new_password, user_code } = form;
  const choosing = new_password !== undefined;
  const asked = LoginRequest.safeParse({ name, password, ...(choosing && { new_password }) });
  const again = { userCode: user_code, name };
  if (!asked.success)
    return showLogin(request, reply, identity, { ...again, choosing, note: newPasswordNote, status: 422 });
  try {
    const attempt = { name, password, newPassword: new_password, address: request.ip };
    const person = await check(attempt);
    await endSession(request, identity);
    const { secret } = await identity.people.sessions.openBrowser(person, clientOf(request));
    setSessionCookie(reply, identity, secret);
    const code = new URLSearchParams({ user_code });
    return await reply.redirect(`${loginPaths.device}?${code}`, 303);
  } catch (error) {
    const failure = refusalOf(error);
    const { code, detail, retryAfterMs } = failure;
    if (code === 'internal') throw error;
    if (retryAfterMs !== undefined) reply.header('retry-after', Math.ceil(retryAfterMs / 1000));
    const isSetup = code === 'password_change_required';
    const note = code === 'invalid_input' ? newPasswordNote : detail;
    const { status } = errorCodes[code];
    return showLogin(request, reply, identity, { ...again, choosing: choosing || isSetup, note, status });
  }
}

async function decide(reply: FastifyReply, identity: Identity, session: BrowserSession, form: Form) {
  const approved = form.action === 'approve';
  if (await identity.people.devices.decide(form.user_code, session, approved))
    return show(reply, donePage(approved ? 'The command line is let in.' : 'The command line is not let in.'));
  return show(reply, refusedPage('This code is unknown, decided or too old.'), 404);
}

async function showCode(reply: FastifyReply, identity: Identity, session: BrowserSession, code: string) {
  const { person, csrfToken: csrf } = session;
  if (code === '') return show(reply, codePage({ csrf, userCode: '', person: person.name }));
  const waiting = await identity.people.devices.look(code, session);
  if (!waiting) {
    const note = 'This code is unknown, decided or too old.';
    return show(reply, codePage({ csrf, userCode: code, person: person.name, note }), 404);
  }
  const minutes = Math.floor((Date.now() - waiting.created_at.getTime()) / 60_000);
  const { client, address } = waiting;
  return show(
    reply,
    approvalPage({
      csrf,
      userCode: code.toUpperCase(),
      client,
      address,
      minutes,
      person: person.name,
      role: person.role,
    }),
  );
}

interface LoginShown {
  readonly userCode: string;
  readonly name?: string;
  readonly choosing?: boolean;
  readonly note?: string;
  readonly status?: number;
}

function showLogin(request: FastifyRequest, reply: FastifyReply, identity: Identity, shown: LoginShown) {
  const known = cookieOf(request, identity.cookies.form);
  const secret = known !== undefined && /^[\w-]{43}$/.test(known) ? known : randomBytes(32).toString('base64url');
  setFormCookie(reply, identity, secret);
  const { userCode: code, name = '', choosing = false, note, status } = shown;
  return show(reply, loginPage({ csrf: formToken(identity, secret), userCode: code, name, choosing, note }), status);
}

/** What a form before the login carries: no other browser's form has it, and no other site can read it. */
function formToken(identity: Identity, secret: string | undefined): string {
  return identity.people.seal(`form\n${secret ?? randomBytes(32).toString('base64url')}`);
}

function show(reply: FastifyReply, text: string, status = 200): FastifyReply {
  return reply.code(status).headers(pageHeaders).send(text);
}
