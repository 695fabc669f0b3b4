import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { FarmError, humanRequestAnswerLink, LinkTicket, limits, requestLinkPath } from '#contracts';
import type { BrowserSession, Gate, GateCall, SystemPrincipal } from '#gate';
import type { Database } from '#store';
import type { LinkLook, Teams } from '#teams';
import type { Services } from '../../../farm.js';
import { goneSignal } from '../gone.js';
import { sessionOf } from '../login/auth-routes.js';
import type { PageDoor } from '../login/device-routes.js';
import { requireOwnPage, requireToken } from '../login/own-page.js';
import { type LoginPlace, logInByPage, loginFields, showLogin } from '../login/page-login.js';
import { pageHeaders } from '../page.js';
import { refusalOf } from '../problem.js';
import { answerErrorsByPage, showPage } from '../show-page.js';
import { answeredPage, answerPage, closedPage } from './link-page.js';
import { type Fields, readAnswer } from './read-answer.js';

interface LinkDoor extends PageDoor {
  readonly gate: Gate<Services>;
  readonly database: Database;
  readonly teams: Teams;
}

interface Link {
  Params: { ticket: string };
}
type OpenLook = Extract<LinkLook, { state: 'open' }>;

/** Each answer at its longest, with what a form makes of its signs. */
export const linkBodyBytes = 3 * limits.humanItems * limits.humanAnswerBytes;

/** For nobody's index; no other site and no store learns the address from `pageHeaders`. */
const linkHeaders = {
  ...pageHeaders,
  'x-robots-tag': 'noindex, nofollow, noarchive',
};

/** Whoever holds a link, and is nobody else (A1.7). */
const bearer: SystemPrincipal = { kind: 'system', id: 'request-link', name: 'The link of a message' };

const Form = z.looseObject({ action: z.enum(['login', 'answer']), ...loginFields });

/**
 * The page behind the link of a message (H44). Looking changes nothing, however often it is done and whoever does it; the form
 * answers, once.
 */
export function linkRoutes(scope: FastifyInstance, door: LinkDoor): void {
  const { identity, publicUrl, logIn: check, onFault } = door;
  scope.addHook('onSend', async (_request, reply) => void reply.headers(linkHeaders));
  answerErrorsByPage(scope, onFault, closedPage);

  scope.get<Link>(`${requestLinkPath}/:ticket`, async (request, reply) => {
    const look = await lookAt(door, request.params.ticket);
    if (look.state !== 'open') return showClosed(reply, look.state);
    const session = await sessionFor(door, look, request);
    if (session === 'needed') return showLogin(request, reply, identity, placeOf(request));
    return showPage(reply, answerPage({ look, given: {}, ...answering(session) }));
  });

  scope.post<Link>(`${requestLinkPath}/:ticket`, async (request, reply) => {
    requireOwnPage(request, publicUrl());
    const form = Form.safeParse(request.body);
    if (!form.success) throw new FarmError('invalid_input', 'The form is not one of this page');
    const look = await lookAt(door, request.params.ticket);
    if (look.state !== 'open') return showClosed(reply, look.state);
    if (form.data.action === 'login')
      return await logInByPage(request, reply, { identity, check }, placeOf(request), form.data);
    const session = await sessionFor(door, look, request);
    if (session === 'needed') return showLogin(request, reply, identity, placeOf(request));
    if (session) requireToken(form.data.csrf, session.csrfToken);
    return await answer(door, request, reply, {
      look,
      session,
      fields: z.record(z.string(), z.string()).parse(request.body),
    });
  });
}

interface Answering {
  readonly look: OpenLook;
  readonly session: BrowserSession | undefined;
  readonly fields: Fields;
}

async function answer(
  { gate }: LinkDoor,
  request: FastifyRequest<Link>,
  reply: FastifyReply,
  { look, session, fields }: Answering,
): Promise<FastifyReply> {
  const caller: Pick<GateCall, 'door' | 'principal'> = session
    ? { door: 'ui', principal: session.person }
    : { door: 'internal', principal: bearer };
  try {
    const result = await gate.call({
      ...caller,
      name: humanRequestAnswerLink.name,
      input: {
        ticket: request.params.ticket,
        request_id: fields.request_id,
        action_id: fields.action_id,
        input: { kind: 'answer', item_responses: readAnswer(look.request.items, fields) },
      },
      signal: goneSignal(reply),
    });
    return showPage(reply, answeredPage(humanRequestAnswerLink.output.parse(result).continuation_pending));
  } catch (error) {
    const failure = refusalOf(error);
    if (failure.code !== 'invalid_input') throw error;
    const note = 'Answer each of them, in a way that it takes. Nothing was sent.';
    return showPage(reply, answerPage({ look, given: fields, note, ...answering(session) }), 422);
  }
}

function lookAt({ database, teams }: LinkDoor, ticket: string): Promise<LinkLook> {
  if (!LinkTicket.safeParse(ticket).success) return Promise.resolve({ state: 'unknown' });
  return database.reading((tx) => teams.requests.look(tx, ticket));
}

/** Who answers: for an approval somebody who has logged in, for all else whoever has the link. */
async function sessionFor(
  { identity }: LinkDoor,
  { request: { kind } }: OpenLook,
  request: FastifyRequest,
): Promise<BrowserSession | 'needed' | undefined> {
  if (kind !== 'approval') return undefined;
  return (await sessionOf(request, identity)) ?? 'needed';
}

function answering(session: BrowserSession | undefined) {
  return { csrf: session?.csrfToken ?? '', person: session && `${session.person.name} (${session.person.role})` };
}

function placeOf({ params: { ticket } }: FastifyRequest<Link>): LoginPlace {
  const path = `${requestLinkPath}/${ticket}`;
  return { action: path, kept: {}, next: path };
}

const closed = {
  unknown: [404, 'This link leads nowhere: it is not whole, or nobody needs it any more.'],
  used: [410, 'This link was used: its question was answered with it.'],
  expired: [410, 'This link is too old. The question can still be answered with longshore task answer.'],
  over: [410, 'This question is not open any more: somebody has answered it, or its time was over.'],
} as const satisfies Record<Exclude<LinkLook['state'], 'open'>, readonly [number, string]>;

function showClosed(reply: FastifyReply, state: keyof typeof closed): FastifyReply {
  const [status, text] = closed[state];
  return showPage(reply, closedPage(text), status);
}
