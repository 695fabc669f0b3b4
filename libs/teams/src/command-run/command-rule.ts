import { FarmError } from '#contracts';
import type { Queries } from '#store';
import { checkOpen } from '../checkpoint/check-checkpoint.js';
import { closeDispatch } from '../dispatch/accept-work.js';
import { grantedTo } from '../dispatch/granted.js';
import type { HandoverRule, Standing } from '../handover/handover-rule.js';
import { dispatchSql } from '../sql/teams.js';
import { openRun } from './open-run.js';

/** A member has a command run and waits for it (§4.7 of the team rules): a Dispatch never runs beside its own command. */
export const commandRule: HandoverRule<'command_run'> = {
  async check(queries, standing) {
    await checkOpen(queries, standing);
    await requireGrant(queries, standing);
  },

  files: ({ request: { cwd } }) => (cwd === undefined ? [] : [{ path: cwd, at: '/request/cwd', is: 'directory' }]),

  async apply(parts, tx, { task, assignment, dispatch }, { id, name, request }, { commit }) {
    await closeDispatch(tx, dispatch, 'command_run_wait', commit);
    const last = await tx.first(dispatchSql.lastWorker, { assignment: assignment.id });
    await openRun(
      parts,
      tx,
      { task, assignment, dispatch },
      { id, name, purpose: 'member', request, warm: last?.worker },
    );
  },
};

/** I20: what the workflow gives this member, at the call and again when the work has arrived. @throws capability_rejected */
async function requireGrant(queries: Queries, { dispatch }: Standing): Promise<void> {
  if ((await grantedTo(queries, dispatch)).command_run === 'allow') return;
  throw new FarmError('capability_rejected', 'The workflow does not let this member have commands run.', {
    hint: 'Run it within your turn, or report blocked with what would be needed.',
  });
}
