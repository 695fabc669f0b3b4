import type { HumanResolution } from '#contracts';
import type { Transaction } from '#store';
import { openDispatch } from '../dispatch/open-dispatch.js';
import type { TeamParts } from '../parts.js';
import type { TaskRow } from '../rows.js';
import { type HumanRequestRow, humanRequestSql } from '../sql/human-request.js';
import { assignmentSql, attentionSql } from '../sql/teams.js';
import { record } from '../task/events.js';

type Ending = Omit<HumanResolution, 'resolved_at'>;

const statuses = { answered: 'resolved', timed_out: 'timed_out', cancelled: 'cancelled' } as const;
const facts = {
  answered: 'human_request_resolved',
  timed_out: 'human_request_timed_out',
  cancelled: 'human_request_cancelled',
} as const;

/**
 * Ends a request, once; who asked goes on with what came of it, also with nothing. While the Task is paused the end is written and
 * its member goes on after Resume (I14). The caller holds the Task's lock. False: somebody was faster.
 */
export async function resolveRequest(
  parts: TeamParts,
  tx: Transaction,
  task: TaskRow,
  request: HumanRequestRow,
  ending: Ending,
): Promise<boolean> {
  const resolution: HumanResolution = { ...ending, resolved_at: new Date().toISOString() };
  const resolved = await tx.first(humanRequestSql.resolve, {
    id: request.id,
    status: statuses[ending.kind],
    resolution: JSON.stringify(resolution),
  });
  if (!resolved) return false;
  tx.later(attentionSql.closeOfJob, { job: request.source_dispatch, kind: 'human_request' });
  record(parts, tx, {
    task: task.id,
    type: facts[ending.kind],
    source: ending.by === null ? 'controller' : 'operator',
    ...(ending.by === null ? {} : { principal: ending.by }),
    payload: { request: request.id, member: request.member, summary: request.summary },
  });
  if (task.status === 'running') await goOnAfterRequest(parts, tx, task, { ...request, resolution });
  return true;
}

/** The successor of whoever asked, with the request as it was asked and what came of it. */
export async function goOnAfterRequest(
  parts: TeamParts,
  tx: Transaction,
  task: TaskRow,
  request: HumanRequestRow,
): Promise<void> {
  const { resolution } = request;
  const assignment = await tx.first(assignmentSql.read, { id: request.assignment });
  if (!assignment || resolution === null) throw new Error('a request that is over without its rows');
  await openDispatch(parts, tx, task, assignment, {
    reason: 'human_result',
    causedBy: request.id,
    continuation: {
      kind: 'human_result',
      source_dispatch: request.source_dispatch,
      request: {
        request_id: request.id,
        kind: request.kind,
        summary: request.summary,
        items: request.items,
        due_at: request.due_at?.toISOString() ?? null,
        default_behavior: request.default_behavior,
      },
      resolution,
    },
  });
}
