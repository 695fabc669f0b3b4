import type { Ceiling, Operation } from '../operation.js';
import { type Door, hasRole, type JobClaims, type Principal } from '../principal.js';

/** As far as step 1 looks at a call. */
export interface Asker {
  readonly principal: Principal;
  readonly door: Door;
  readonly job?: JobClaims;
}

export type Exposure = 'offered' | 'not_available' | 'not_allowed';

/** Step 1 of the gate; listings use the same predicate, so that what is listed can be called (A5.1, A5.5). */
export function exposureOf(operation: Operation<unknown>, asker: Asker): Exposure {
  const { principal } = asker;
  if (principal.kind === 'worker') return offeredAtNode(operation, asker) ? 'offered' : 'not_available';
  if (principal.kind === 'agent') return offeredToAgent(operation) ? 'offered' : 'not_available';
  const { catalogue, role } = operation.access;
  if (catalogue === 'job' || catalogue === 'member') return 'not_available';
  return hasRole(principal, role) ? 'offered' : 'not_allowed';
}

/** A worker sees the job catalogue and, for the job whose token it shows, the member catalogue; nothing else (H24). */
function offeredAtNode({ access }: Operation<unknown>, { door, job }: Asker): boolean {
  if (door !== 'node') return false;
  if (access.catalogue === 'member') return job !== undefined;
  return access.catalogue === 'job';
}

/** Ceiling first, then a grant; the job protocol needs none (A4.1 to A4.3). */
function offeredToAgent(operation: Operation<unknown>): boolean {
  const { catalogue, ceiling } = operation.access;
  if (!defaultsOf(ceiling).offered) return false;
  return catalogue === 'job' || (catalogue === 'operator' && isGranted());
}

/** Ceilings as pairs of default and cap (A3.1). Rows of `operation_settings` can lower the default and raise it to the cap. */
function defaultsOf(ceiling: Ceiling): { readonly offered: boolean; readonly cap: boolean } {
  return { offered: ceiling === 'on', cap: ceiling !== 'never' };
}

/** Nobody can write a grant yet, so no agent has one. */
function isGranted(): boolean {
  return false;
}
