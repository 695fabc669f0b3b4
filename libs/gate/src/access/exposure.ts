import type { Access, Ceiling, Operation } from '../operation.js';
import { type Door, hasRole, type JobClaims, type PersonPrincipal, type Principal } from '../principal.js';
import type { AccessRows, Settings } from './access-rows.js';
import { targetsOf } from './targets.js';

/** As far as step 1 looks at a call. */
export interface Asker {
  readonly principal: Principal;
  readonly door: Door;
  readonly job?: JobClaims;
}

export type Exposure = 'offered' | 'not_available' | 'not_allowed';

/** As far as step 1 looks at an operation. */
export type Exposed = Pick<Operation<unknown>, 'name' | 'hasPreview'> & {
  readonly access: Pick<Access, 'catalogue' | 'class' | 'ceiling'> & Pick<Operation<unknown>['access'], 'role'>;
};

/** What there is none of is judged like what is hidden: by every predicate (A5.2, A5.3). */
const absent: Exposed = {
  name: '',
  hasPreview: false,
  access: { catalogue: 'member', class: 'send', ceiling: 'never', role: 'admin' },
};

/** Step 1 of the gate; listings use the same predicate, so that what is listed can be called (A5.1, A5.5). */
export function exposureOf(operation: Exposed | undefined, asker: Asker, rows: AccessRows): Exposure {
  const { principal, door } = asker;
  // The farm itself (A1.7): no exposure, no grants.
  if (principal.kind === 'system') return operation && door === 'internal' ? 'offered' : 'not_available';
  const asked = operation ?? absent;
  if (door !== 'mcp' && principal.kind === 'person')
    return operation ? exposureToPerson(operation, principal) : 'not_available';
  // All of them, whatever the first ones say: how long it takes tells nothing (A5.3).
  const holds = [
    operation !== undefined,
    isInReach(asked, asker),
    isOffered(asked, rows.settings),
    rows.enabled,
    principal.kind !== 'agent' || isGranted(asked, rows.grants),
    principal.kind !== 'person' || hasRole(principal, asked.access.role),
  ];
  return holds.every(Boolean) ? 'offered' : 'not_available';
}

/** Exposure is an affair of MCP: at the command line and in the console the role decides, and says so (A3.11). */
function exposureToPerson({ access }: Exposed, person: PersonPrincipal): Exposure {
  if (access.catalogue === 'job' || access.catalogue === 'member') return 'not_available';
  return hasRole(person, access.role) ? 'offered' : 'not_allowed';
}

/**
 * The catalogues that a caller could see at all. A worker: jobs and, for the job whose token it shows, the member's (H24). An
 * agent: jobs, and what persons have. A person over MCP: no jobs, as nobody is there to hold them (A4.5).
 */
function isInReach({ access: { catalogue } }: Exposed, { principal, door, job }: Asker): boolean {
  const isPersons = catalogue === 'operator' || catalogue === 'admin';
  if (principal.kind === 'worker')
    return door === 'node' && (catalogue === 'job' || (catalogue === 'member' && job !== undefined));
  if (door !== 'mcp') return false;
  return isPersons || (catalogue === 'job' && principal.kind === 'agent');
}

/** The job protocol needs no grant: the token's scope bounds it. The ceiling stays above any grant (A4.1 to A4.3). */
function isGranted({ name, access }: Exposed, grants: ReadonlySet<string>): boolean {
  return access.catalogue === 'job' || targetsOf(name).some((target) => grants.has(target));
}

/**
 * Deny wins: offered up to the cap, unless any row of the operation or of its plugin says no, and if one says yes or it is so by
 * default (A3.3).
 */
export function isOffered(operation: Exposed, { lowered, raised, lifted }: Settings): boolean {
  const targets = targetsOf(operation.name);
  const { byDefault, cap } = rangeOf(ceilingOf(operation, lifted));
  const isLowered = targets.some((target) => lowered.has(target));
  const isRaised = targets.some((target) => raised.has(target));
  return cap && !isLowered && (isRaised || byDefault);
}

/** The ceiling of the code, or off where the file has lifted never (A3.5). */
export function ceilingOf(operation: Exposed, lifted: ReadonlySet<string>): Ceiling {
  const { ceiling } = operation.access;
  return ceiling === 'never' && lifted.has(operation.name) && canBeLifted(operation) ? 'off' : ceiling;
}

/** By these an agent would widen its own reach, or become another: no file lifts them. */
const neverLifted: ReadonlySet<string> = new Set([
  'exposure_set',
  'mcp_power',
  'grant_add',
  'agent_rotate',
  'approval_decide',
]);

/** Whether the file may lift its ceiling: never past A2.3 and A2.4 (A3.7). */
export function canBeLifted({ name, access, hasPreview }: Exposed): boolean {
  if (neverLifted.has(name) || access.class === 'send') return false;
  return access.class !== 'mutate' || hasPreview;
}

/** Ceilings as pairs of default and cap (A3.1). */
function rangeOf(ceiling: Ceiling): { readonly byDefault: boolean; readonly cap: boolean } {
  return { byDefault: ceiling === 'on', cap: ceiling !== 'never' };
}
