import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import { FarmError, loginPaths } from '#contracts';
import type { BrowserSession, Identity } from '#gate';
import { answerErrorsByPage, showPage } from '../show-page.js';
import { type LoginDoor, sessionOf } from './auth-routes.js';
import { requireOwnPage, requireToken } from './own-page.js';
import { type LoginPlace, logInByPage, loginFields, showLogin } from './page-login.js';
import { approvalPage, codePage, donePage, refusedPage } from './pages.js';
import { clearSessionCookie } from './session-cookie.js';

const userCode = z.string().max(64).catch('');
const Query = z.object({ user_code: userCode });
const Form = z.object({
  action: z.enum(['login', 'approve', 'deny', 'logout']),
  user_code: userCode.default(''),
  ...loginFields,
});
type Form = z.output<typeof Form>;

export interface PageDoor extends LoginDoor {
  readonly onFault: (error: unknown) => void;
}

/** The page where a person lets a command line in. Looking changes nothing; a form decides, and says where it stands. */
export function deviceRoutes(scope: FastifyInstance, { identity, publicUrl, logIn: check, onFault }: PageDoor): void {
  answerErrorsByPage(scope, onFault, refusedPage);

  scope.get(loginPaths.device, async (request, reply) => {
    const { user_code } = Query.parse(request.query);
    const session = await sessionOf(request, identity);
    if (!session) return showLogin(request, reply, identity, placeOf(user_code));
    return await showCode(reply, identity, session, user_code);
  });

  scope.post(loginPaths.device, async (request, reply) => {
    requireOwnPage(request, publicUrl());
    const form = Form.safeParse(request.body);
    if (!form.success) throw new FarmError('invalid_input', 'The form is not one of this page');
    if (form.data.action === 'login')
      return await logInByPage(request, reply, { identity, check }, placeOf(form.data.user_code), form.data);
    const session = await sessionOf(request, identity);
    if (!session) return showLogin(request, reply, identity, placeOf(form.data.user_code));
    requireToken(form.data.csrf, session.csrfToken);
    if (form.data.action === 'logout') {
      await identity.people.sessions.close(session);
      clearSessionCookie(reply, identity);
      return await reply.redirect(loginPaths.device, 303);
    }
    return await decide(reply, identity, session, form.data);
  });
}

async function decide(reply: FastifyReply, identity: Identity, session: BrowserSession, form: Form) {
  const approved = form.action === 'approve';
  if (await identity.people.devices.decide(form.user_code, session, approved))
    return showPage(reply, donePage(approved ? 'The command line is let in.' : 'The command line is not let in.'));
  return showPage(reply, refusedPage('This code is unknown, decided or too old.'), 404);
}

async function showCode(reply: FastifyReply, identity: Identity, session: BrowserSession, code: string) {
  const { person, csrfToken: csrf } = session;
  if (code === '') return showPage(reply, codePage({ csrf, userCode: '', person: person.name }));
  const waiting = await identity.people.devices.look(code, session);
  if (!waiting) {
    const note = 'This code is unknown, decided or too old.';
    return showPage(reply, codePage({ csrf, userCode: code, person: person.name, note }), 404);
  }
  const minutes = Math.floor((Date.now() - waiting.created_at.getTime()) / 60_000);
  const { client, address } = waiting;
  return showPage(
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

function placeOf(code: string): LoginPlace {
  const next = `${loginPaths.device}?${new URLSearchParams({ user_code: code })}`;
  return { action: loginPaths.device, kept: { user_code: code }, next };
}
