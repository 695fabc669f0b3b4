import { statement } from '#store';
import type { Pins } from '../rows.js';

type Outcome = 'delivered' | 'queued' | 'uncertain' | 'not_running';

export interface SteerRow {
  readonly action_id: string;
  readonly task: string;
  readonly member: string;
  readonly message: string;
  readonly outcome: Outcome | null;
  /** Its Dispatch is closed: nothing more will be heard of it. */
  readonly over: boolean;
}

/** A member that can be told something now. */
export interface SteerableRow {
  readonly member: string;
  readonly assignment: string;
  readonly attempt: number;
  readonly dispatch: string;
  readonly pins: Pins;
  readonly worker: string;
  /** Of this Assignment so far. */
  readonly steers: number;
}

const columns = `s.action_id, s.task, s.member, s.message, s.outcome, d.closed_at is not null as over`;

/** Hand-written SQL of steering. */
export const steerSql = {
  /**
   * Sessions that run: leased and started.
   *  phase     before there is nobody to tell, after it the work is being handed in
   *  end_kind  it is told to stop
   */
  steerable: statement<SteerableRow>(
    'teams.steerable',
    `select a.member, d.assignment, d.attempt, d.id as dispatch, d.pins, j.holder as worker,
       (select count(*) from steer s where s.assignment = d.assignment) as steers
     from dispatch d join job j on j.id = d.id join assignment a on a.id = d.assignment
     where d.task = $task and d.closed_at is null and j.state = 'leased' and j.phase = 'started' and j.end_kind is null`,
  ),
  find: statement<SteerRow>(
    'teams.steer_find',
    `select ${columns} from steer s join dispatch d on d.id = s.dispatch where s.action_id = $action_id`,
  ),
  add: statement<unknown>(
    'teams.steer_add',
    `insert into steer (action_id, task, member, assignment, dispatch, seq, message, principal)
     values ($action_id, $task, $member, $assignment, $dispatch, $seq, $message, $principal)`,
  ),
  /** The first word about it stands, but for a queued one; told again to a new session it is no news (I23). */
  settle: statement<{ task: string; member: string; message: string; principal: string }>(
    'teams.steer_settle',
    `update steer set outcome = $outcome, settled_at = clock_timestamp()
     where dispatch = $dispatch and seq = $seq and (outcome is null or outcome = 'queued')
     returning task, member, message, principal`,
  ),
  /** What the member has heard while it did this Assignment, in order. */
  heard: statement<{ message: string; created_at: Date }>(
    'teams.steer_heard',
    `select message, created_at from steer where assignment = $assignment and outcome = 'delivered' order by created_at, seq`,
  ),
} as const;
