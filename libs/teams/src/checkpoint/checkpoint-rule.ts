import { FarmError } from '#contracts';
import type { Transaction } from '#store';
import { openVerify } from '../command-run/open-verify.js';
import { closeDispatch } from '../dispatch/accept-work.js';
import { handoverEnds } from '../dispatch/ends.js';
import { openDispatch } from '../dispatch/open-dispatch.js';
import { type Arrived, type HandoverRule, namedFiles, type Standing } from '../handover/handover-rule.js';
import { asRefusal } from '../handover/refusal.js';
import type { TeamParts } from '../parts.js';
import type { CheckpointBody, Outcome } from '../rows.js';
import { assignmentSql } from '../sql/teams.js';
import { completeTask } from '../task/complete-task.js';
import { record } from '../task/events.js';
import { settleChild } from '../wave/settle-child.js';
import { checkCheckpoint } from './check-checkpoint.js';
import { recordCheckpoint } from './record-checkpoint.js';

/** A checkpoint with an outcome: the Assignment ends green or blocked, or is tried once more. */
export const checkpointRule: HandoverRule<'checkpoint'> = {
  check: (queries, standing, { checkpoint }) => checkCheckpoint(queries, standing, checkpoint),
  files: ({ checkpoint }) => namedFiles(checkpoint.files),

  async apply(parts, tx, standing, { checkpoint }, arrived) {
    const { task, assignment, dispatch } = standing;
    if (checkpoint.outcome === undefined) throw new Error('a kept handover has an outcome');
    const rule = handoverEnds[checkpoint.outcome];
    recordCheckpoint(parts, tx, standing, checkpoint);
    await closeDispatch(tx, dispatch, rule.closed, arrived.commit);
    recordBoundary(parts, tx, standing, checkpoint, arrived);
    if (rule.assignment === 'open') return tryAgain(parts, tx, standing, checkpoint);
    await tx.run(assignmentSql.close, { id: assignment.id, outcome: rule.assignment });
    if (assignment.id === task.root_assignment) return endTeam(parts, tx, standing, rule.assignment);
    await settleChild(parts, tx, assignment, rule.assignment);
  },
};

function recordBoundary(
  parts: TeamParts,
  tx: Transaction,
  { task, assignment, dispatch }: Standing,
  checkpoint: CheckpointBody,
  { commit, result }: Arrived,
): void {
  record(parts, tx, {
    task: task.id,
    type: 'boundary_accepted',
    source: 'node',
    payload: {
      dispatch: dispatch.id,
      assignment: assignment.id,
      attempt: assignment.attempt,
      member: assignment.member,
      outcome: checkpoint.outcome,
      checkpoint: checkpoint.id,
      summary: checkpoint.summary,
      files: checkpoint.files,
      commit,
      root: assignment.parent === null,
      ...(result.usage === undefined ? {} : { usage: result.usage }),
    },
  });
}

/** The root's word is the Task's; a green one is verified first, where that was asked for. */
async function endTeam(parts: TeamParts, tx: Transaction, standing: Standing, outcome: Outcome): Promise<void> {
  const lanes = await tx.first(assignmentSql.lanesGoingOn, { task: standing.task.id });
  if (lanes && lanes.open > 0) throw asRefusal(new FarmError('illegal_state', 'A part of the team is still at work.'));
  if (outcome === 'green' && standing.task.settings.verify !== undefined) await openVerify(parts, tx, standing);
  else await completeTask(parts, tx, standing.task, outcome);
}

async function tryAgain(
  parts: TeamParts,
  tx: Transaction,
  { task, assignment, dispatch }: Standing,
  checkpoint: CheckpointBody,
): Promise<void> {
  const next = await tx.first(assignmentSql.nextAttempt, { id: assignment.id });
  if (!next) throw asRefusal(new FarmError('budget_exhausted', 'All attempts of this Assignment are used up.'));
  const { id: _, ...told } = checkpoint;
  await openDispatch(
    parts,
    tx,
    task,
    { ...assignment, attempt: next.attempt, recoveries: 0 },
    {
      reason: 'semantic_retry',
      causedBy: dispatch.id,
      continuation: {
        kind: 'semantic_retry',
        source_dispatch: dispatch.id,
        previous_attempt: `${assignment.id}.${assignment.attempt}`,
        checkpoint: told,
      },
    },
  );
}
