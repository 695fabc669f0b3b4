import type { FastifyRequest } from 'fastify';
import { csrfHeader, FarmError, headers } from '#contracts';
import type { Audience, Door, Identity, JobClaims, PersonPrincipal, Principal, WorkerPrincipal } from '#gate';
import { sessionOf } from './login/auth-routes.js';
import { requireToken } from './login/own-page.js';

/** What comes in by HTTP. Tokens for MCP open nothing here (A1.6). */
const httpAudiences: readonly Audience[] = ['node', 'cli', 'ui'];

/** Who calls, as the credentials say. Nothing else of a request decides it (A1.3, A1.6). */
export interface Caller {
  readonly door: Door;
  readonly principal: Principal;
  /** Of the job token beside a worker's own (D17). */
  readonly job?: JobClaims;
}

export interface LeaseHolder {
  readonly worker: WorkerPrincipal;
  readonly job: JobClaims;
}

/**
 * Reads bearer and job token, or a browser's cookie. Errors: FarmError unauthenticated; csrf_refused; stale_lease for a job token
 * alone, of another worker's, forged or over: the same answer for all (D17, H24); identity_in_use (D16).
 */
export async function callerOf(request: FastifyRequest, identity: Identity): Promise<Caller> {
  const jobToken = request.headers[headers.jobToken];
  const bearer = bearerOf(request.headers.authorization);
  if (bearer === undefined && jobToken !== undefined) throw new FarmError('stale_lease');
  if (bearer === undefined) return await byCookie(request, identity);
  const { door, principal } = await identity.authenticate(bearer, httpAudiences);
  if (typeof jobToken !== 'string' || principal.kind !== 'worker') return { door, principal };
  return { door, principal, job: await identity.jobOf(jobToken, principal) };
}

/**
 * A browser comes by its session's cookie, where nothing claims to be a bearer. What is no plain look carries the session's token
 * too, which a page of another site can not read. Errors: FarmError unauthenticated, csrf_refused.
 */
async function byCookie(request: FastifyRequest, identity: Identity): Promise<Caller> {
  const session = request.headers.authorization === undefined ? await sessionOf(request, identity) : undefined;
  if (!session) throw new FarmError('unauthenticated');
  if (request.method !== 'GET' && request.method !== 'HEAD')
    requireToken(request.headers[csrfHeader], session.csrfToken);
  return { door: 'ui', principal: session.person };
}

/** A worker that shows its job's token: for roads. */
export async function leaseHolderOf(request: FastifyRequest, identity: Identity): Promise<LeaseHolder> {
  const { principal, job } = await callerOf(request, identity);
  if (principal.kind !== 'worker') throw new FarmError('unauthenticated');
  if (job === undefined) throw new FarmError('stale_lease');
  return { worker: principal, job };
}

/** A worker that shows the token of a lease that it holds or once held: for late work, which is kept (D20). */
export async function pastHolderOf(request: FastifyRequest, identity: Identity): Promise<LeaseHolder> {
  const jobToken = request.headers[headers.jobToken];
  const bearer = bearerOf(request.headers.authorization);
  if (typeof jobToken !== 'string' || bearer === undefined) throw new FarmError('stale_lease');
  const { principal } = await identity.authenticate(bearer, httpAudiences);
  if (principal.kind !== 'worker') throw new FarmError('unauthenticated');
  return { worker: principal, job: await identity.pastJobOf(jobToken, principal) };
}

export async function personOf(request: FastifyRequest, identity: Identity): Promise<PersonPrincipal> {
  const { principal } = await callerOf(request, identity);
  if (principal.kind !== 'person') throw new FarmError('unauthenticated');
  return principal;
}

export function bearerOf(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  return /^Bearer ([A-Za-z0-9_.-]+)$/i.exec(header)?.[1];
}
