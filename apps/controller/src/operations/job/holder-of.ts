import { FarmError } from '#contracts';
import type { AgentPrincipal, Call, WorkerPrincipal } from '#gate';
import type { Claimer, Holder } from '#jobs';
import type { Services } from '../../farm.js';

/** Who asks for jobs, whether a machine or an agent. */
export interface Claimant extends Claimer {
  /** False: it gets nothing new, and what it has goes on (D11). */
  readonly accepting: boolean;
}

/** An agent is no process: all of its calls are of one boot, so that a lost reply is asked for again from anywhere (A12.10). */
const agentBoot = '00000000-0000-0000-0000-000000000000';

/** Holder and boot come from the token, never from the input (H14, H24). */
export function holderOf({ principal }: Call<Services>): Holder {
  if (principal.kind === 'worker') return { worker: principal.id, boot: principal.boot };
  if (principal.kind === 'agent') return { worker: principal.id, boot: agentBoot };
  throw new FarmError('not_available');
}

export function claimantOf({ principal }: Call<Services>, kinds?: readonly string[]): Claimant {
  if (principal.kind === 'worker')
    return { ...claimerOf(principal), ...(kinds && { kinds }), accepting: principal.accepting };
  if (principal.kind === 'agent') return agentClaimant(principal, kinds);
  throw new FarmError('not_available');
}

/** What it may take: as enrolled, less what it dropped (H26). */
export function claimerOf({ id, boot, pool, labels, accounts, slots }: WorkerPrincipal): Claimer {
  return { worker: id, boot, pool, labels, accounts, slots };
}

/** The kinds of its token and no others: what is out of its scope looks like an empty queue (A12.11). */
function agentClaimant({ id, scope, pool, labels, slots }: AgentPrincipal, asked?: readonly string[]): Claimant {
  const kinds = asked ? scope.filter((kind) => asked.includes(kind)) : scope;
  return { worker: id, boot: agentBoot, pool, labels, accounts: [], slots, kinds, accepting: true };
}
