import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { type AgentView, FarmError, isReservedKind, limits, newAgentId, type OauthTokenReply } from '#contracts';
import type { Database, Queries, Transaction } from '#store';
import { revokeGrant } from '../access/grants.js';
import type { AgentPrincipal } from '../principal.js';
import { accessSql } from '../sql/access.js';
import { type AgentRow, agentsSql } from '../sql/agents.js';
import type { TokenIssuer } from '../tokens/token-issuer.js';
import type { AgentClaims } from '../tokens/token-kinds.js';
import { RecentRows } from './recent-rows.js';

/** What an agent may take and do, fixed by who makes it. */
export interface NewAgent {
  readonly name: string;
  /** The person that it works for (A1.5). */
  readonly owner: string;
  readonly kinds: readonly string[];
  readonly pool: string;
  readonly labels: readonly string[];
  readonly slots: number;
}

export interface AgentSecret {
  readonly id: string;
  /** Shown once; the row has its hash (H41). */
  readonly secret: string;
}

/** What a client shows at the token endpoint. */
export interface AgentCredential {
  readonly id: string;
  readonly secret: string;
  /** `job:<kind>` by spaces: fewer than it has; absent: all. */
  readonly scope?: string;
}

interface AgentsOptions {
  readonly database: Database;
  readonly tokens: TokenIssuer<AgentClaims>;
  /** The door that tokens open, `<public url>/mcp/agent`; none before the controller listens. */
  readonly resource: () => string | undefined;
}

/** Name, owner and scope of an agent never change: they may be as old as this. Whether it is enabled is read at each call. */
const momentMs = 500;
const secretBytes = 32;
const scopePrefix = 'job:';

/** MCP clients with credentials of their own: rows that people write, secrets by hash, tokens for ten minutes (S4.3). */
export class Agents {
  private readonly recent: RecentRows<AgentRow | undefined>;

  constructor(private readonly options: AgentsOptions) {
    this.recent = new RecentRows((id) => options.database.first(agentsSql.agent, { id }), momentMs);
  }

  /**
   * A token for a secret. Errors: FarmError unauthenticated, in the same words for an unknown agent, a wrong or old secret, and one
   * that is disabled or revoked.
   */
  async exchange({ id, secret, scope }: AgentCredential): Promise<OauthTokenReply> {
    const { database, tokens } = this.options;
    const aud = this.options.resource();
    if (aud === undefined) throw new FarmError('unavailable', 'The controller does not listen yet');
    const row = await database.first(agentsSql.agent, { id });
    const secret_hash = hashOf(secret);
    // Compared for who does not exist, too.
    const isTheirs = timingSafeEqual(row?.secret_hash ?? hashOf(''), secret_hash);
    const noted = row && isTheirs && (await database.first(agentsSql.noteToken, { id, secret_hash }));
    if (!noted) throw new FarmError('unauthenticated', 'The agent or its secret is not valid');
    const kinds = narrowed(row.scope, scope);
    const granted = kinds.map((kind) => `${scopePrefix}${kind}`).join(' ');
    return {
      access_token: tokens.mint(
        { aud, sub: id, client_id: id, scope: granted, secret_at: row.secret_made_at.getTime() },
        limits.agentTokenSeconds,
      ),
      token_type: 'Bearer',
      expires_in: limits.agentTokenSeconds,
      scope: granted,
    };
  }

  /**
   * The agent that a token names; what it may do is read per call (A4.6). Errors: FarmError unauthenticated for another door's
   * token (S1.12), for one of a secret that was replaced, and for an agent that never was.
   */
  async principal(token: string): Promise<AgentPrincipal> {
    const { sub, aud, scope, secret_at } = await this.options.tokens.verify(token);
    const row = aud === this.options.resource() ? await this.rowOf(sub, secret_at) : undefined;
    if (!row) throw new FarmError('unauthenticated');
    const { id, name, owner, pool, labels, slots } = row;
    return { kind: 'agent', id, name, owner, scope: narrowed(row.scope, scope), pool, labels, slots };
  }

  /** A token that is newer than what is remembered has it read anew. */
  private async rowOf(id: string, secretAt: number): Promise<AgentRow | undefined> {
    const isOf = (row: AgentRow | undefined) => row?.secret_made_at.getTime() === secretAt;
    const known = await this.recent.get(id);
    if (isOf(known)) return known;
    this.recent.forget(id);
    const read = await this.recent.get(id);
    return isOf(read) ? read : undefined;
  }

  async create(tx: Transaction, { name, owner, kinds, pool, labels, slots }: NewAgent): Promise<AgentSecret> {
    const id = newAgentId();
    const secret = newSecret();
    await tx.run(agentsSql.insertPrincipal, { id, name });
    await tx.run(agentsSql.insert, { id, owner, scope: kinds, pool, labels, slots, secret_hash: hashOf(secret) });
    return { id, secret };
  }

  /** The old secret opens nothing from the commit on, its tokens nothing a moment later. Errors: FarmError not_found, conflict. */
  async rotate(tx: Transaction, id: string): Promise<AgentSecret> {
    await this.lockUnrevoked(tx, id);
    const secret = newSecret();
    await tx.run(agentsSql.rotate, { id, secret_hash: hashOf(secret) });
    tx.afterCommit(() => this.recent.forget(id));
    return { id, secret };
  }

  /** Refused everything from the commit on; its leases are the queue's affair. Errors: FarmError not_found, conflict. */
  async disable(tx: Transaction, id: string): Promise<void> {
    await this.lockUnrevoked(tx, id);
    await tx.run(agentsSql.disable, { id });
  }

  /** Errors: FarmError not_found, conflict. */
  async enable(tx: Transaction, id: string): Promise<void> {
    await this.lockUnrevoked(tx, id);
    await tx.run(agentsSql.enable, { id });
  }

  /** For good, its grants with it; again it does nothing. Errors: FarmError not_found. */
  async revoke(tx: Transaction, id: string, by: string): Promise<void> {
    await tx.run(accessSql.lockToChange);
    const { grants } = await this.find(tx, id);
    for (const target of grants) await revokeGrant(tx, { agent: id, target }, by);
    await tx.run(agentsSql.revoke, { id });
  }

  async list(queries: Queries): Promise<readonly AgentView[]> {
    return (await queries.all(agentsSql.agents)).map(viewOf);
  }

  /** Errors: FarmError not_found. */
  async view(queries: Queries, id: string): Promise<AgentView> {
    return viewOf(await this.find(queries, id));
  }

  private async find(queries: Queries, id: string): Promise<AgentRow> {
    const row = await queries.first(agentsSql.agent, { id });
    if (!row) throw new FarmError('not_found', 'There is no such agent', { hint: 'longshore agent list shows them.' });
    return row;
  }

  private async lockUnrevoked(tx: Transaction, id: string): Promise<void> {
    await tx.run(accessSql.lockToChange);
    if ((await this.find(tx, id)).revoked_at === null) return;
    throw new FarmError('conflict', 'The agent is revoked, for good', { hint: 'Make another: longshore agent create' });
  }
}

/** Of the kinds that it has those that a scope names; never a reserved one, whatever a row or a token says (H37). */
function narrowed(kinds: readonly string[], scope: string | undefined): readonly string[] {
  const open = kinds.filter((kind) => !isReservedKind(kind));
  if (scope === undefined) return open;
  const named = new Set(scope.split(' '));
  return open.filter((kind) => named.has(`${scopePrefix}${kind}`));
}

function viewOf(row: AgentRow): AgentView {
  return {
    agent_id: row.id,
    name: row.name,
    owner: row.owner,
    state: stateOf(row),
    kinds: [...row.scope],
    pool: row.pool,
    labels: [...row.labels],
    slots: row.slots,
    grants: [...row.grants],
    secret_made_at: row.secret_made_at.toISOString(),
    token_at: row.token_at?.toISOString() ?? null,
  };
}

function stateOf({ disabled_at, revoked_at }: AgentRow): AgentView['state'] {
  if (revoked_at !== null) return 'revoked';
  return disabled_at === null ? 'active' : 'disabled';
}

const newSecret = (): string => `ls-agent.${randomBytes(secretBytes).toString('base64url')}`;

/** 256 random bits need no slow hash. */
function hashOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}
