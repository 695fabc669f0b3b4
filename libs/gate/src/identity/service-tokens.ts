import { createHash, randomBytes } from 'node:crypto';
import { FarmError, limits, newServiceId, type ServiceTokenView } from '#contracts';
import type { Database, Queries, Transaction } from '#store';
import { hasRole, type PersonPrincipal, type PersonRole } from '../principal.js';
import { loginSql, type ServiceListRow } from '../sql/login.js';

export interface ServiceWish {
  readonly name: string;
  readonly role: PersonRole;
  readonly audience: 'cli' | 'mcp';
  readonly days: number;
}

const head = 'ls-svc.';
const tokenText = /^ls-svc\.[A-Za-z0-9_-]{43}$/;
const lastUse = { last_use_seconds: limits.lastUseSeconds };

/** Secrets for scripts and MCP clients: shown once, kept as a hash, judged by their row at each call (S4.6). */
export class ServiceTokens {
  constructor(private readonly database: Database) {}

  /** Tells it from the tokens that are signed. */
  static isOne(bearer: string): boolean {
    return bearer.startsWith(head);
  }

  /** Errors: FarmError not_allowed for a role above one's own and for a service token; conflict when there are too many. */
  async create(tx: Transaction, creator: PersonPrincipal, { name, role, audience, days }: ServiceWish) {
    requirePerson(creator);
    if (!hasRole(creator, role))
      throw new FarmError('not_allowed', 'The role is above your own', { hint: `Yours is ${creator.role}.` });
    const { count = 0 } = (await tx.first(loginSql.liveServices, { person: creator.id })) ?? {};
    if (count >= limits.serviceTokensPerPerson)
      throw new FarmError('conflict', `You have ${count} service tokens already`, {
        hint: 'Revoke those that nobody uses: `longshore service-token list` shows their last use.',
      });
    const id = newServiceId();
    const token = `${head}${randomBytes(32).toString('base64url')}`;
    await tx.run(loginSql.insertServicePrincipal, { id, name, role });
    const made = await tx.first(loginSql.insertService, {
      id,
      created_by: creator.id,
      hash: sha256(token),
      audience,
      days,
    });
    if (!made) throw new FarmError('internal');
    return { token_id: id, token, expires_at: made.expires_at.toISOString() };
  }

  /** Errors: FarmError unauthenticated for one that is unknown, over, revoked, or whose creator may not come in. */
  async authenticate(token: string): Promise<{ audience: 'cli' | 'mcp'; principal: PersonPrincipal }> {
    if (!tokenText.test(token)) throw new FarmError('unauthenticated');
    const row = await this.database.first(loginSql.serviceOfHash, { hash: sha256(token), ...lastUse });
    if (!row) throw new FarmError('unauthenticated');
    if (row.stale) await this.database.run(loginSql.touchService, { id: row.id, ...lastUse });
    const { id, name, audience } = row;
    const own: PersonPrincipal = { kind: 'person', id, name, role: row.role, service: true };
    return { audience, principal: hasRole(own, row.creator_role) ? { ...own, role: row.creator_role } : own };
  }

  async list(queries: Queries, of: PersonPrincipal): Promise<ServiceTokenView[]> {
    return (await queries.all(loginSql.services, { person: ownOnly(of) })).map(viewOf);
  }

  /** Errors: FarmError not_found, also for another person's, unless an admin asks. */
  async revoke(tx: Transaction, id: string, by: PersonPrincipal): Promise<ServiceTokenView> {
    const row = await tx.first(loginSql.revokeService, { id, person: ownOnly(by) });
    if (row) return viewOf(row);
    throw new FarmError('not_found', 'There is no such service token', {
      hint: '`longshore service-token list` shows yours.',
    });
  }
}

/** What makes another way in is for people: a stolen token must not outlive itself. Errors: FarmError not_allowed. */
export function requirePerson(principal: PersonPrincipal): void {
  if (principal.service)
    throw new FarmError('not_allowed', 'A service token makes no other way in', {
      hint: 'Log in as a person: `longshore login <address>`.',
    });
}

const ownOnly = (person: PersonPrincipal): string | null => (hasRole(person, 'admin') ? null : person.id);

function viewOf(row: ServiceListRow): ServiceTokenView {
  const { id, name, role, audience, creator, created_at, expires_at, used_at } = row;
  return {
    token_id: id,
    name,
    role,
    audience,
    created_by: creator,
    created_at: created_at.toISOString(),
    expires_at: expires_at.toISOString(),
    used_at: used_at?.toISOString() ?? null,
    state: stateOf(row),
  };
}

function stateOf({ revoked, expired, creator_disabled }: ServiceListRow): ServiceTokenView['state'] {
  if (revoked) return 'revoked';
  if (expired) return 'expired';
  return creator_disabled ? 'creator_disabled' : 'active';
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
