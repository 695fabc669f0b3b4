import type { AccountOffer } from '#contracts';

/** How a call came in; decided by the credential, never by a field, header or argument (A1.3). */
export type Door = 'cli' | 'ui' | 'mcp' | 'node' | 'internal';

/** Each role may do what the roles before it may. */
const personRoles = ['viewer', 'operator', 'admin'] as const;
export type PersonRole = (typeof personRoles)[number];

export interface PersonPrincipal {
  readonly kind: 'person';
  readonly id: string;
  readonly name: string;
  readonly role: PersonRole;
  /** The login that the call came by; absent for the farm's own key and for a service token. */
  readonly session?: string;
  /** It is a service token, made by a person and allowed at most what they are: it makes no other way in. */
  readonly service?: true;
}

export interface WorkerPrincipal {
  readonly kind: 'worker';
  readonly id: string;
  /** The one boot that holds the identity (D16). */
  readonly boot: string;
  readonly pool: string;
  /** Fixed at enrolment, less what its beats dropped (H26). */
  readonly labels: readonly string[];
  /** Names of the provider accounts of its own configuration that can be used now. */
  readonly accounts: readonly string[];
  /** The same, with what its owner says of them. */
  readonly offers: readonly AccountOffer[];
  /** What it said, at most its ceiling. */
  readonly slots: number;
  /** False while it is paused, draining or in quarantine: it gets nothing new, what it has goes on. */
  readonly accepting: boolean;
}

/** An MCP client with a token of its own: it holds leases like a machine, of the kinds in its scope and no others. */
export interface AgentPrincipal {
  readonly kind: 'agent';
  readonly id: string;
  readonly name: string;
  /** The person whose agent it is: its calls are for them (A1.5). */
  readonly owner: string;
  /** Kinds of jobs that its token lets it take (A12.11). */
  readonly scope: readonly string[];
  readonly pool: string;
  readonly labels: readonly string[];
  /** Leases that it may hold at once. */
  readonly slots: number;
}

/** A part of the farm that calls by the door `internal`: a sweep, a plugin's clock. No credential stands for it (A1.7). */
export interface SystemPrincipal {
  readonly kind: 'system';
  readonly id: string;
  readonly name: string;
}

/** Who calls. A member is a worker that shows a job token beside its own (D17). */
export type Principal = PersonPrincipal | WorkerPrincipal | AgentPrincipal | SystemPrincipal;

/** What a job token says. Authority comes from the rows: the token alone writes nothing (A12.3, D17). */
export interface JobClaims {
  readonly job: string;
  readonly epoch: number;
  readonly lease_id: string;
  readonly kind: string;
  /** The worker that it was given to. */
  readonly holder: string;
}

/** Who a call is said to be by: consent is bound to it, the audit names it (A1.5). */
export interface CallerIdentity {
  readonly class: 'user' | 'agent' | 'system';
  /** The person that the call is for. */
  readonly actor: string | null;
  readonly agent_id: string | null;
}

/** The class follows the door: over MCP it is an agent's, whoever holds the credential (A1.4). */
export function callerOf(principal: Principal, door: Door): CallerIdentity {
  if (door === 'internal') return { class: 'system', actor: principal.id, agent_id: null };
  if (principal.kind === 'person')
    return { class: door === 'mcp' ? 'agent' : 'user', actor: principal.id, agent_id: null };
  return { class: 'agent', actor: principal.kind === 'agent' ? principal.owner : null, agent_id: principal.id };
}

export function hasRole(principal: PersonPrincipal, needed: PersonRole): boolean {
  return personRoles.indexOf(principal.role) >= personRoles.indexOf(needed);
}
