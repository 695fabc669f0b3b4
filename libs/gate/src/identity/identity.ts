import type { z } from 'zod';
import {
  agentDoorPath,
  type Challenge,
  cliClientId,
  type EnrolReply,
  type EnrolRequest,
  FarmError,
  limits,
  newWorkerId,
  type TokenReply,
  type TokenRequest,
} from '#contracts';
import type { Database, Transaction } from '#store';
import { isSignedBy } from '../keys/ed25519.js';
import type { FarmKeys } from '../keys/farm-keys.js';
import type { Door, JobClaims, PersonPrincipal, Principal, WorkerPrincipal } from '../principal.js';
import { gateSql } from '../sql/gate.js';
import { loginSql } from '../sql/login.js';
import { TokenIssuer } from '../tokens/token-issuer.js';
import { agentKind, type JobTokenClaims, jobKind, personKind, workerKind } from '../tokens/token-kinds.js';
import { Agents } from './agents.js';
import { Challenges } from './challenges.js';
import { type Invitation, takeJoinTicket, writeJoinTicket } from './join-tickets.js';
import { openPeople, type People } from './people.js';
import { ServiceTokens } from './service-tokens.js';
import { Workers } from './workers.js';

/** A worker's ear on NATS (H23). */
export type MintNats = (workerId: string, livesSeconds: number) => TokenReply['nats'];

export interface IdentityOptions {
  readonly database: Database;
  readonly keys: FarmKeys;
  readonly farmId: string;
  readonly leaseMs: number;
  readonly mintNats?: MintNats;
  /** Where people and machines reach the farm; known once it listens. */
  readonly publicUrl?: () => string | undefined;
  readonly now?: () => number;
}

/** A lease, as its job token says it. */
export interface TokenLease {
  readonly job: string;
  readonly epoch: number;
  readonly lease_id: string;
  readonly kind: string;
  readonly worker: string;
  readonly lease_ms: number;
}

/** What a token may be for. A door takes some of them, and no token of another (A1.6, S1.12). */
export type Audience = 'node' | 'cli' | 'ui' | 'mcp' | 'agent';

/** Who came in, and by which door: the credential decides (A1.6). */
export interface Authenticated {
  readonly door: Door;
  readonly principal: Principal;
}

/** Who somebody is: tickets, keys, tokens, and the rows that make a token worth anything (S4.6). */
export class Identity {
  readonly workers: Workers;
  readonly people: People;
  readonly agents: Agents;
  private readonly tokens;
  private readonly challenges: Challenges;

  constructor(private readonly options: IdentityOptions) {
    const { database, keys, farmId, leaseMs, now = Date.now } = options;
    const issuing = { keys: keys.signing, issuer: `longshore:${farmId}`, now };
    this.tokens = {
      worker: new TokenIssuer(workerKind, issuing),
      person: new TokenIssuer(personKind, issuing),
      job: new TokenIssuer(jobKind, issuing),
    };
    this.challenges = new Challenges(keys, now);
    this.workers = new Workers(database, leaseMs);
    this.people = openPeople(database, keys.seal);
    this.agents = new Agents({
      database,
      tokens: new TokenIssuer(agentKind, issuing),
      resource: () => this.agentResource,
    });
  }

  /** The one resource that agents' tokens open (S4.3); none before the controller listens. */
  get agentResource(): string | undefined {
    const url = this.options.publicUrl?.();
    return url === undefined ? undefined : `${url.replace(/\/+$/, '')}${agentDoorPath}`;
  }

  get farmId(): string {
    return this.options.farmId;
  }

  /** Names of the cookies of a browser: a farm's own, since cookies know no ports. With https no other host can set them. */
  get cookies(): { readonly session: string; readonly form: string; readonly secure: boolean } {
    const secure = this.options.publicUrl?.()?.startsWith('https:') ?? false;
    const name = `${secure ? '__Host-' : ''}longshore-${this.farmId.slice(0, 8)}`;
    return { session: name, form: `${name}-form`, secure };
  }

  /** Of the key that join tickets name. */
  get fingerprint(): string {
    return this.options.keys.enrolment.fingerprint;
  }

  /** The keys that sign tokens, and the one that join tickets name: it signs challenges and no token. */
  jwks() {
    const { signing, enrolment } = this.options.keys;
    const named = {
      kty: 'OKP',
      crv: 'Ed25519',
      x: enrolment.raw,
      kid: enrolment.fingerprint,
      use: 'longshore-enrolment',
    };
    return { keys: [...signing.jwks().keys, named] };
  }

  challenge(): z.output<typeof Challenge> {
    const { keys, farmId } = this.options;
    const challenge = this.challenges.make();
    return {
      challenge,
      farm_id: farmId,
      controller_key: keys.enrolment.raw,
      signature: keys.enrolment.sign(`challenge\n${challenge}`),
    };
  }

  /** Makes a join ticket; it is shown once. */
  invite(tx: Transaction, invitation: Invitation): Promise<string> {
    return writeJoinTicket(tx, invitation, this.fingerprint);
  }

  /**
   * Gives a key an identity for a ticket; the same key gets the same again (H36). Errors: FarmError unauthenticated,
   * ticket_invalid, wrong_fingerprint.
   */
  async enrol(request: EnrolRequest): Promise<EnrolReply> {
    const { challenge, ticket, public_key, signature } = request;
    this.challenges.check(challenge);
    if (!isSignedBy(public_key, `enrol\n${challenge}\n${ticket}`, signature)) throw new FarmError('unauthenticated');
    const id = await this.options.database.transaction(async (tx) => {
      const invitation = await takeJoinTicket(tx, ticket, public_key, this.fingerprint);
      // The ticket's row is locked from here on: a twin of this request waits, and then finds the key.
      const known = await tx.first(gateSql.principalOfKey, { public_key });
      if (known?.kind === 'worker') return known.id;
      if (known) throw new FarmError('ticket_invalid');
      return await insertWorker(tx, request, invitation);
    });
    const worker = await this.options.database.first(gateSql.worker, { id, lease_ms: this.options.leaseMs });
    if (!worker) throw new FarmError('ticket_invalid');
    return {
      worker_id: id,
      farm_id: this.options.farmId,
      fingerprint: this.fingerprint,
      pool: worker.pool,
      labels: [...worker.labels],
      slot_ceiling: worker.slot_ceiling,
    };
  }

  /** A token for a signed challenge. Errors: FarmError unauthenticated, identity_in_use (D16). */
  async token(request: TokenRequest): Promise<TokenReply> {
    const { challenge, principal, boot, signature, session } = request;
    this.challenges.check(challenge);
    const key = await this.publicKeyOf(principal, session);
    if (key === undefined || !isSignedBy(key, `token\n${challenge}\n${principal}\n${boot ?? ''}`, signature))
      throw new FarmError('unauthenticated');
    return isWorker(principal) ? await this.workerToken(request) : this.personToken(principal, session);
  }

  /**
   * Reads a bearer token of one of the audiences that the door takes. An agent that is disabled comes in and finds nothing: it is
   * the gate that hides all from it (A12.12). Errors: FarmError unauthenticated for anything but a live person's, a worker's or an
   * agent's; identity_in_use for a boot that has been succeeded.
   */
  async authenticate(bearer: string, takes: readonly Audience[]): Promise<Authenticated> {
    if (ServiceTokens.isOne(bearer)) return await this.service(bearer, takes);
    const typ = typOf(bearer);
    if (typ === workerKind.typ) {
      const { sub, aud, boot } = await this.tokens.worker.verify(bearer);
      if (!takes.includes(aud)) throw new FarmError('unauthenticated');
      return { door: 'node', principal: await this.workers.principal(sub, boot) };
    }
    if (takes.includes('agent') && isAgentToken(bearer))
      return { door: 'mcp', principal: await this.agents.principal(bearer) };
    // Everything else is read as a person's, by whose validator any other kind falls (S4.1).
    const { sub, aud, sid } = await this.tokens.person.verify(bearer);
    if (!takes.includes(aud)) throw new FarmError('unauthenticated');
    return { door: aud, principal: await this.personOf(sub, sid) };
  }

  /** The job token beside a worker's own. Errors: FarmError stale_lease, for whatever reason it is not this worker's (D17, H24). */
  async jobOf(token: string, worker: WorkerPrincipal): Promise<JobClaims> {
    return claimsOf(await this.tokens.job.verify(token).catch(() => undefined), worker);
  }

  /** The same of a lease that may be long over: only late work is taken under it, to be kept (D20, H10). */
  async pastJobOf(token: string, worker: WorkerPrincipal): Promise<JobClaims> {
    return claimsOf(await this.tokens.job.verifyPast(token).catch(() => undefined), worker);
  }

  /** Lives as long as the lease and 30 s (S4.3). */
  mintJobToken({ job, epoch, lease_id, kind, worker, lease_ms }: TokenLease): string {
    const claims = { aud: 'job', sub: job, epoch, lease_id, kind, holder: worker } as const;
    return this.tokens.job.mint(claims, lease_ms / 1000 + limits.clockSkewSeconds);
  }

  /** The next key signs from now on, here; other controllers go over within two minutes. Errors: FarmError conflict. */
  async rotateKeys(tx: Transaction): Promise<void> {
    await tx.run(loginSql.lockKeys);
    await this.options.keys.signing.rotate();
  }

  /** Rotates keys that have signed for so long; 0: never. Answers whether it did. */
  async rotateDueKeys(everyDays: number): Promise<boolean> {
    const { database, keys, now = Date.now } = this.options;
    const isDue = () =>
      now() >=
      Math.max(keys.signing.ring.rotatedAt.getTime() + everyDays * 86_400_000, keys.signing.ring.rotatableAt.getTime());
    if (everyDays === 0 || !isDue()) return false;
    return await database.transaction(async (tx) => {
      await tx.run(loginSql.lockKeys);
      // Another controller may have been first.
      await keys.signing.refresh();
      if (!isDue()) return false;
      await keys.signing.rotate();
      return true;
    });
  }

  /** Each minute: what is over goes, keys that another controller rotated come. */
  async upkeep(): Promise<void> {
    await this.options.database.run(gateSql.forgetTickets);
    await this.people.sweep();
    await this.options.keys.signing.refresh();
  }

  /** For the command line. Without a session: for whoever holds the key that the farm made for its first admin. */
  personToken(id: string, session?: string): TokenReply {
    const claims = {
      aud: 'cli',
      sub: id,
      client_id: cliClientId,
      ...(session !== undefined && { sid: session }),
    } as const;
    return {
      token: this.tokens.person.mint(claims, limits.personTokenSeconds),
      expires_in_seconds: limits.personTokenSeconds,
    };
  }

  /** The person as their rows are now: a role that was changed, a session that was ended, counts from the next call on (S4.6). */
  private async personOf(id: string, session: string | undefined): Promise<PersonPrincipal> {
    if (session === undefined) {
      const row = await this.options.database.first(gateSql.person, { id });
      if (row) return { kind: 'person', id, name: row.name, role: row.role };
    } else {
      const row = await this.people.sessions.find(session, id);
      if (row) return { kind: 'person', id, name: row.name, role: row.role, session };
    }
    throw new FarmError('unauthenticated');
  }

  private async service(bearer: string, takes: readonly Audience[]): Promise<Authenticated> {
    const { audience, principal } = await this.people.services.authenticate(bearer);
    if (!takes.includes(audience)) throw new FarmError('unauthenticated');
    return { door: audience, principal };
  }

  private async workerToken({ principal, boot, host }: TokenRequest): Promise<TokenReply> {
    if (boot === undefined) throw new FarmError('invalid_input', 'A worker names its boot', { fields: bootMissing });
    await this.workers.takeIdentity(principal, boot, host);
    const nats = this.options.mintNats?.(principal, limits.workerTokenSeconds);
    return {
      token: this.tokens.worker.mint({ aud: 'node', sub: principal, boot }, limits.workerTokenSeconds),
      expires_in_seconds: limits.workerTokenSeconds,
      ...(nats && { nats }),
    };
  }

  private async publicKeyOf(principal: string, session?: string): Promise<string | undefined> {
    const { database, leaseMs } = this.options;
    if (session !== undefined) return (await this.people.sessions.find(session, principal))?.public_key ?? undefined;
    if (isWorker(principal))
      return (await database.first(gateSql.worker, { id: principal, lease_ms: leaseMs }))?.public_key;
    return (await database.first(gateSql.person, { id: principal }))?.public_key ?? undefined;
  }
}

const bootMissing = [{ path: '/boot', rule: 'type:string' }];

const isWorker = (principal: string): boolean => principal.startsWith('w_');

/** The kind that a token says it is: chooses the validator and proves nothing. */
function typOf(token: string): unknown {
  const header = partOf(token, 0);
  return 'typ' in header ? header.typ : undefined;
}

/** The same of a token whose type persons and agents share. */
function isAgentToken(token: string): boolean {
  const claims = partOf(token, 1);
  return 'sub' in claims && typeof claims.sub === 'string' && claims.sub.startsWith('a_');
}

function partOf(token: string, n: 0 | 1): object {
  try {
    const part: unknown = JSON.parse(Buffer.from(token.split('.')[n] ?? '', 'base64url').toString());
    return typeof part === 'object' && part !== null ? part : {};
  } catch {
    return {};
  }
}

async function insertWorker(tx: Transaction, request: EnrolRequest, invitation: Invitation): Promise<string> {
  const id = newWorkerId();
  await tx.run(gateSql.insertWorkerPrincipal, {
    id,
    name: invitation.name ?? request.name,
    public_key: request.public_key,
  });
  await tx.run(gateSql.insertWorker, {
    id,
    pool: invitation.pool,
    project: invitation.project ?? null,
    labels: [...invitation.labels],
    slot_ceiling: invitation.slots,
    host: request.host,
  });
  return id;
}

function claimsOf(claims: JobTokenClaims | undefined, worker: WorkerPrincipal): JobClaims {
  if (claims?.holder !== worker.id) throw new FarmError('stale_lease');
  const { sub, epoch, lease_id, kind, holder } = claims;
  return { job: sub, epoch, lease_id, kind, holder };
}
