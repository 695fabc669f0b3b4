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

export interface AgentPrincipal {
  readonly kind: 'agent';
  readonly id: string;
  readonly name: string;
}

/** Who calls. A member is a worker that shows a job token beside its own (D17). */
export type Principal = PersonPrincipal | WorkerPrincipal | AgentPrincipal;

/** What a job token says. Authority comes from the rows: the token alone writes nothing (A12.3, D17). */
export interface JobClaims {
  readonly job: string;
  readonly epoch: number;
  readonly lease_id: string;
  readonly kind: string;
  /** The worker that it was given to. */
  readonly holder: string;
}

/** Class of a caller, for the audit (A1.4). */
export function classOf(principal: Principal): 'user' | 'agent' {
  return principal.kind === 'person' ? 'user' : 'agent';
}

export function hasRole(principal: PersonPrincipal, needed: PersonRole): boolean {
  return personRoles.indexOf(principal.role) >= personRoles.indexOf(needed);
}
