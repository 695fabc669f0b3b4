import { bells } from '#contracts';
import type { Transaction } from '#store';
import type { TeamParts } from '../parts.js';
import { taskSql } from '../sql/teams.js';

/** Kinds of facts; later features add theirs. */
type EventType =
  | 'task_started'
  | 'task_prepared'
  | 'dispatch_opened'
  | 'dispatch_start_updated'
  | 'dispatch_closed'
  | 'lease_lost'
  | 'lane_exhausted'
  | 'work_plan_set'
  | 'work_plan_cleared'
  | 'checkpoint_recorded'
  | 'boundary_accepted'
  | 'wave_opened'
  | 'wave_settled'
  | 'structural_revision_adopted'
  | 'human_request_opened'
  | 'human_request_resolved'
  | 'human_request_timed_out'
  | 'human_request_cancelled'
  | 'command_run_opened'
  | 'command_run_started'
  | 'command_run_cancel_requested'
  | 'command_run_succeeded'
  | 'command_run_failed'
  | 'command_run_timed_out'
  | 'command_run_cancelled'
  | 'command_run_abandoned'
  | 'push_waiting'
  | 'branch_pushed'
  | 'pull_request_opened'
  | 'task_paused'
  | 'task_resumed'
  | 'task_cancelled'
  | 'member_steered';

interface Fact {
  readonly task: string;
  readonly type: EventType;
  readonly source: 'controller' | 'control_api' | 'operator' | 'node';
  readonly payload: Readonly<Record<string, unknown>>;
  readonly principal?: string;
}

/** Writes a fact in its transaction (P1) and rings the Task's bell once it is durable. The caller holds the Task's lock. */
export function record(parts: Pick<TeamParts, 'bell'>, tx: Transaction, fact: Fact): void {
  tx.later(taskSql.append, {
    task: fact.task,
    type: fact.type,
    source: fact.source,
    payload: JSON.stringify(fact.payload),
    principal: fact.principal ?? null,
  });
  tx.afterCommit(() => parts.bell.ring(bells.task(fact.task)));
}
