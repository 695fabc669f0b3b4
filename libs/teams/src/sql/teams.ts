import type { FileReference } from '#contracts';
import { statement } from '#store';
import type {
  AssignmentRow,
  CommandRunRow,
  DispatchRow,
  PushRow,
  RepositoryRow,
  TaskRow,
  TeamMemberRow,
} from '../rows.js';

const taskColumns = `id, seq, title, workflow, revision_no, prompt, started_by, status, outcome, control_revision, pause_reason,
  pause_detail, source, settings, base, team_revision, root_assignment, created_at, updated_at, ended_at`;
const assignmentColumns = `id, task, member, parent, prompt, files, plan, plan_revision, children_limit, children_used, retry_limit, retries_used,
  attempt, recoveries, line_base, line_head, outcome, closed_at`;
const commandRunColumns = `id, name, task, assignment, (select a.member from assignment a where a.id = command_run.assignment) as member,
  source_dispatch, purpose, base, command, cwd, timeout_seconds, summary, state, exit_code, failure_code, detail, epoch, losses, tail,
  isolation, observed_bytes, written_bytes, output_complete, commit, ended_by, opened_at, started_at, due_at, ended_at`;
/** Without its request, which is large: only its machine reads that. */
const dispatchColumns = `id, task, assignment, attempt, caused_by, reason, pins, continuation, base, commit,
  closed_reason, opened_at, closed_at`;

/**
 * An Assignment that goes on by itself: it has a current Dispatch or waits for something that can still end (I26). Children of a
 * Wave are lanes of their own: while one of them has not reported the Wave counts by them, and after that it is to be joined.
 */
const goesOn = `(exists (select from dispatch d where d.assignment = a.id and d.closed_at is null)
  or exists (select from human_request h where h.assignment = a.id and h.status = 'open')
  or exists (select from command_run c where c.assignment = a.id and c.state in ('pending_start', 'running', 'cancellation_requested'))
  or exists (select from wave w where w.assignment = a.id and w.status = 'open'
    and not exists (select from wave_member m where m.wave = w.id and m.status = 'pending')))`;
/** The same, or it waits for its children: nothing is to be opened for it. */
const goesOnOrWaits = `(${goesOn} or exists (select from wave w where w.assignment = a.id and w.status = 'open'))`;

/**
 * Of the types that may be told: a retry is no end, and a source without notes is what everybody expects. As `activitiesOf` tells
 * them, so that a page of them is full and their number right.
 */
const isTold = `type = any($types::text[]) and not (type = 'boundary_accepted' and payload->>'outcome' = 'retry')
  and not (type = 'task_prepared' and coalesce(payload->'source'->'notes', '[]'::jsonb) = '[]'::jsonb)`;

/** Hand-written SQL of the team runtime. It reads `job` beside `dispatch`, whose id it shares, and writes none of it. */
export const taskSql = {
  lock: statement<TaskRow>('teams.task_lock', `select ${taskColumns} from task where id = $task for update`),
  lockOnly: statement<{ id: string }>('teams.task_lock_only', `select id from task where id = $task for update`),
  read: statement<TaskRow>('teams.task_read', `select ${taskColumns} from task where id = $task`),
  /** No row: the id is another Task's (N9). */
  add: statement<TaskRow>(
    'teams.task_add',
    `insert into task (id, title, workflow, revision_no, prompt, started_by, status, source, settings)
     values ($id, $title, $workflow, $revision_no, $prompt, $started_by, 'preparing', $source::jsonb, $settings::jsonb)
     on conflict (id) do nothing`,
  ),
  /**
   * In no order: those that fail for ever must not stand before the rest. Tasks that wait for an origin are counted apart, so that
   * slow origins hold up none that needs no network. Not those whose machine is to bring its folder: they wait for that job.
   */
  preparing: statement<{ id: string }>(
    'teams.task_preparing',
    `select id from task where status = 'preparing' and id <> all($busy::text[]) and (source->>'kind' = 'repository') = $remote
       and not (source->>'kind' = 'in_place' and exists (select from job j
         where j.scope = task.id and j.kind = 'snapshot' and j.state in ('queued', 'held', 'leased')))
     order by random() limit $limit`,
  ),
  /** One controller at a time prepares a Task; the lock goes with the session (D19). */
  tryPreparing: statement<{ mine: boolean }>(
    'teams.task_try_preparing',
    `select pg_try_advisory_lock(7305002, hashtext($task)) as mine`,
  ),
  /** preparing: a cancel or a twin that was faster has decided already (I25). */
  ready: statement<TaskRow>(
    'teams.task_ready',
    `update task set status = 'running', base = $base, team_revision = $team_revision, root_assignment = $root_assignment,
       updated_at = clock_timestamp()
     where id = $task and status = 'preparing'`,
  ),
  /** from: the revision that the change was planned on. */
  adoptTeam: statement<{ id: string }>(
    'teams.task_adopt_team',
    `update task set team_revision = $to, updated_at = clock_timestamp() where id = $task and team_revision = $from`,
  ),
  /** from: the status that the caller saw under the lock; anything else is a fault of ours, and nothing is written. */
  move: statement<TaskRow>(
    'teams.task_move',
    `update task set status = $to, outcome = $outcome, pause_reason = $reason, pause_detail = $detail,
       control_revision = control_revision + $step::int, updated_at = clock_timestamp(),
       ended_at = case when $to in ('completed', 'cancelled') then clock_timestamp() else ended_at end
     where id = $task and status = $from
     returning ${taskColumns}`,
  ),
  /**
   * One fact of the record: the next number and a hash over the fact and the hash before. The Task's row lock, which the caller
   * holds or takes here, makes the sequence gap-free and the chain single (I19).
   */
  append: statement<{ seq: number }>(
    'teams.event_append',
    `with head as materialized (
       select id, event_seq + 1 as seq, event_hash, clock_timestamp() as at from task where id = $task for update
     ), fact as materialized (
       select id, seq, at, sha256(coalesce(event_hash, ''::bytea) || convert_to(jsonb_build_array(
         id, seq, $type::text, $source::text, $payload::jsonb, $principal::text, (extract(epoch from at) * 1000000)::bigint
       )::text, 'UTF8')) as hash from head
     ), written as (
       insert into task_event (task, seq, type, source, payload, principal, at, hash)
       select id, seq, $type, $source, $payload::jsonb, $principal, at, hash from fact
     )
     update task set event_seq = fact.seq, event_hash = fact.hash, updated_at = fact.at from fact where task.id = fact.id
     returning fact.seq`,
  ),
  events: statement<{ seq: number; type: string; at: Date; payload: unknown; principal: string | null }>(
    'teams.events',
    `select seq, type, at, payload, principal from task_event where task = $task and seq > $after order by seq limit $limit`,
  ),
  /** Facts that people are told, newest first, and how many there are. */
  told: statement<{ seq: number; type: string; at: Date; payload: unknown; total: number }>(
    'teams.events_told',
    `select seq, type, at, payload, count(*) over () as total from task_event where task = $task and ${isTold}
     order by seq desc limit $limit`,
  ),
  toldEvent: statement<{ seq: number; type: string; at: Date; payload: unknown }>(
    'teams.event_told',
    `select seq, type, at, payload from task_event where task = $task and seq = $seq::int and ${isTold}`,
  ),
  head: statement<{ event_seq: number; status: TaskRow['status'] }>(
    'teams.event_head',
    `select event_seq, status from task where id = $task`,
  ),
  /** The first fact whose number or hash does not follow from the ones before. */
  brokenEvent: statement<{ seq: number }>(
    'teams.event_broken',
    `select seq from (
       select seq, hash, row_number() over w as expected,
         sha256(coalesce(lag(hash) over w, ''::bytea) || convert_to(jsonb_build_array(
           task, seq, type, source, payload, principal, (extract(epoch from at) * 1000000)::bigint)::text, 'UTF8')) as derived
       from task_event where task = $task window w as (order by seq)
     ) e where seq <> expected or hash <> derived order by seq limit 1`,
  ),
  search: statement<{
    seq: number;
    task_id: string;
    title: string;
    workflow_id: string;
    status: TaskRow['status'];
    outcome: TaskRow['outcome'];
    waiting: boolean;
    starting: boolean;
    verify: boolean;
    verified: boolean | null;
    setup_failed: boolean;
    attention: number;
    started_at: Date;
    ended_at: Date | null;
  }>(
    'teams.task_search',
    `select * from (
       select t.seq, t.id as task_id, t.title, t.workflow as workflow_id, t.status, t.outcome, t.created_at as started_at, t.ended_at,
         exists (select from human_request h where h.task = t.id and h.status = 'open') as waiting,
         exists (select from dispatch d join job j on j.id = d.id
                 where d.task = t.id and d.closed_at is null and j.started_at is null and not j.awaits_lane) as starting,
         t.settings->'verify' is not null as verify,
         (select c.state = 'succeeded' from command_run c where c.task = t.id and c.purpose = 'verify') as verified,
         t.status = 'completed' and exists (select from dispatch d join handover h on h.dispatch = d.id
                 where d.assignment = t.root_assignment and h.result->'isolation'->>'setup' = 'failed') as setup_failed,
         (select count(*) from attention a where a.task = t.id and a.closed_at is null) as attention
       from task t
       where t.seq < $before and ($query::text is null or position(lower($query) in lower(t.title || ' ' || t.id || ' ' || t.workflow)) > 0)
     ) s
     where $product::text is null or $product = case
       when status = 'completed' and outcome = 'blocked' then 'blocked'
       when status <> 'running' then status
       when waiting then 'waiting_for_you' when starting then 'starting' else 'working' end
     order by seq desc limit $limit`,
  ),
  counts: statement<{ status: TaskRow['status']; count: number }>(
    'teams.task_counts',
    `select status, count(*) as count from task group by status`,
  ),
} as const;

const repositoryColumns = `id, name, project, url, default_branch, settings, credential_kind, credential, host_keys, added_by,
  created_at, updated_at`;

export const repositorySql = {
  add: statement<RepositoryRow>(
    'teams.repository_add',
    `insert into repository (id, name, project, url, default_branch, settings, credential_kind, credential, host_keys, added_by)
     values ($id, $name, $project, $url, $default_branch, $settings::jsonb, $credential_kind, $credential, $host_keys, $added_by)
     on conflict (name) do nothing
     returning ${repositoryColumns}`,
  ),
  replace: statement<RepositoryRow>(
    'teams.repository_replace',
    `update repository set project = $project, url = $url, default_branch = $default_branch, settings = $settings::jsonb,
       credential_kind = $credential_kind, credential = $credential, host_keys = $host_keys, updated_at = clock_timestamp()
     where id = $id
     returning ${repositoryColumns}`,
  ),
  count: statement<{ count: number }>('teams.repository_count', `select count(*) as count from repository`),
  find: statement<RepositoryRow>(
    'teams.repository_find',
    `select ${repositoryColumns} from repository where name = $name`,
  ),
  read: statement<RepositoryRow>('teams.repository_read', `select ${repositoryColumns} from repository where id = $id`),
  /** A replacement or a removal waits for whoever holds it. */
  lock: statement<RepositoryRow>(
    'teams.repository_lock',
    `select ${repositoryColumns} from repository where name = $name for update`,
  ),
  /** A Task that starts from it: a removal waits for the Task's row and then finds it. */
  share: statement<RepositoryRow>(
    'teams.repository_share',
    `select ${repositoryColumns} from repository where name = $name for key share`,
  ),
  list: statement<RepositoryRow>(
    'teams.repository_list',
    `select ${repositoryColumns} from repository where name > $after order by name limit $limit`,
  ),
  urls: statement<{ name: string; url: string }>(
    'teams.repository_urls',
    `select name, url from repository order by name`,
  ),
  /** url: the keys are of the host that was asked; null: of two first contacts one is believed, and the other must fit it. */
  learnHostKeys: statement<{ id: string }>(
    'teams.repository_learn_host_keys',
    `update repository set host_keys = $host_keys where id = $id and url = $url and host_keys is null returning id`,
  ),
  remove: statement<{ id: string }>('teams.repository_remove', `delete from repository where id = $id`),
  /** Tasks that still need its settings. */
  inUse: statement<{ count: number }>(
    'teams.repository_in_use',
    `select count(*) as count from task
     where status in ('preparing', 'running', 'paused') and source->>'repository' = $id::text`,
  ),
  /** One controller at a time is in a mirror; the lock goes with the session. */
  tryMirror: statement<{ mine: boolean }>(
    'teams.mirror_try',
    `select pg_try_advisory_lock(7305005, hashtext($key)) as mine`,
  ),
  secrets: statement<{ name: string; sealed: Buffer }>(
    'teams.repository_secrets',
    `select name, sealed from repository_secret where repository = $id order by name`,
  ),
  secretNames: statement<{ repository: string; name: string }>(
    'teams.repository_secret_names',
    `select repository, name from repository_secret where repository = any($ids::uuid[]) order by name`,
  ),
  dropSecrets: statement<unknown>(
    'teams.repository_drop_secrets',
    `delete from repository_secret where repository = $id`,
  ),
  addSecret: statement<unknown>(
    'teams.repository_add_secret',
    `insert into repository_secret (repository, name, sealed) values ($id, $name, $sealed)`,
  ),
} as const;

export const sourceSql = {
  /** Repeating an upload makes it fresh again. */
  add: statement<{ bytes: number }>(
    'teams.source_add',
    `insert into source_upload (principal, sha256, bytes) values ($principal, $sha256, $bytes)
     on conflict (principal, sha256) do update set uploaded_at = clock_timestamp(), named_at = clock_timestamp()`,
  ),
  find: statement<{ bytes: number }>(
    'teams.source_find',
    `select bytes from source_upload where principal = $principal and sha256 = $sha256`,
  ),
  held: statement<{ bytes: number }>(
    'teams.source_held',
    `select coalesce(sum(bytes), 0)::bigint as bytes from source_upload where principal = $principal`,
  ),
  /** Written, not only read: the expiry that waits for the row looks at its new time and spares it. */
  name: statement<{ bytes: number }>(
    'teams.source_name',
    `update source_upload set named_at = clock_timestamp() where principal = $principal and sha256 = $sha256 returning bytes`,
  ),
  /** An hour old, and no Task that is still to take it in names it (D19). */
  expire: statement<{ principal: string; sha256: string }>(
    'teams.source_expire',
    `delete from source_upload u
     where u.named_at < clock_timestamp() - make_interval(secs => $expires_ms::double precision / 1000)
       and not exists (select from task t where t.started_by = u.principal and t.source->>'sha256' = u.sha256
         and t.base is null and t.status in ('preparing', 'paused'))
     returning principal, sha256`,
  ),
} as const;

export const teamSql = {
  addRevision: statement<{ id: string }>(
    'teams.revision_add',
    `insert into team_revision (id, task, sequence) values ($id, $task, $sequence)`,
  ),
  /** The next of the Task's revisions: the Task's lock makes the numbers gap-free. */
  addSuccessor: statement<{ id: string }>(
    'teams.revision_add_successor',
    `insert into team_revision (id, task, sequence, predecessor, created_by_dispatch)
     select $id, $task, sequence + 1, id, $dispatch from team_revision where id = $predecessor`,
  ),
  addMember: statement<{ member: string }>(
    'teams.member_add',
    `insert into team_member (revision, member, parent, position, depth, config_id, basis_id, configuration, origin)
     values ($revision, $member, $parent, $position, $depth, $config_id, $basis_id, $configuration::jsonb, $origin)`,
  ),
  members: statement<TeamMemberRow>(
    'teams.members',
    `select revision, member, parent, position, depth, config_id, basis_id, configuration, origin from team_member
     where revision = $revision order by depth, position, member`,
  ),
  /**
   * Direct children in the pinned revision without a green of the configuration and branch that they have now (I8). Exact ids:
   * no times, no counting; the look-up is Task-wide.
   */
  unproven: statement<{ member: string }>(
    'teams.unproven',
    `select p.member from team_member p
     join team_member c on c.revision = $current and c.member = p.member
     where p.revision = $pinned and p.parent = $member
       and not exists (select from checkpoint k where k.task = $task and k.member = c.member and k.outcome = 'green'
         and k.config_id = c.config_id and k.basis_id = c.basis_id)
     order by p.position`,
  ),
} as const;

export const assignmentSql = {
  add: statement<AssignmentRow>(
    'teams.assignment_add',
    `insert into assignment (id, task, member, prompt, files, children_limit, retry_limit, line_base, line_head)
     values ($id, $task, $member, $prompt, $files::jsonb, $children_limit, $retry_limit, $base, $base)
     returning ${assignmentColumns}`,
  ),
  /** do nothing: another Assignment of the member is open; two at once meet at the index (I2). */
  addChild: statement<AssignmentRow>(
    'teams.assignment_add_child',
    `insert into assignment (id, task, member, parent, created_by_dispatch, prompt, files, children_limit, retry_limit, line_base,
       line_head)
     values ($id, $task, $member, $parent, $dispatch, $prompt, $files::jsonb, $children_limit, $retry_limit, $base, $base)
     on conflict (task, member) where closed_at is null do nothing
     returning ${assignmentColumns}`,
  ),
  openOf: statement<{ member: string }>(
    'teams.assignment_open_of',
    `select member from assignment where task = $task and closed_at is null`,
  ),
  useChildren: statement<{ id: string }>(
    'teams.assignment_use_children',
    `update assignment set children_used = children_used + $count::int where id = $id`,
  ),
  read: statement<AssignmentRow>('teams.assignment_read', `select ${assignmentColumns} from assignment where id = $id`),
  ofDispatch: statement<AssignmentRow>(
    'teams.assignment_of_dispatch',
    `select ${assignmentColumns} from assignment where id = (select assignment from dispatch where id = $dispatch)`,
  ),
  ofTask: statement<AssignmentRow>(
    'teams.assignments_of_task',
    `select ${assignmentColumns} from assignment where task = $task order by created_at, id`,
  ),
  setPlan: statement<{ plan_revision: number }>(
    'teams.assignment_set_plan',
    `update assignment set plan = $plan::jsonb, plan_revision = plan_revision + 1 where id = $id`,
  ),
  /** Compare and set: from is the base that the Dispatch was given; a line that moved under it is not overwritten (H6, D20). */
  moveLine: statement<{ id: string }>(
    'teams.assignment_move_line',
    `update assignment set line_head = $to where id = $id and line_head = $from`,
  ),
  /** D4: what was accepted shows that the lane lives. */
  clearRecoveries: statement<{ id: string }>(
    'teams.assignment_clear_recoveries',
    `update assignment set recoveries = 0 where id = $id`,
  ),
  /** recoveries < most: the lane is exhausted, and the caller closes it (I18). */
  countRecovery: statement<{ recoveries: number }>(
    'teams.assignment_count_recovery',
    `update assignment set recoveries = recoveries + 1 where id = $id and recoveries < $most::int returning recoveries`,
  ),
  giveRecoveryBack: statement<{ id: string }>(
    'teams.assignment_give_recovery_back',
    `update assignment set recoveries = recoveries - 1 where id = $id and recoveries > 0`,
  ),
  /** retries_used < retry_limit: two of one budget never pass it. */
  nextAttempt: statement<{ attempt: number }>(
    'teams.assignment_next_attempt',
    `update assignment set attempt = attempt + 1, retries_used = retries_used + 1, recoveries = 0
     where id = $id and retries_used < retry_limit returning attempt`,
  ),
  close: statement<{ id: string }>(
    'teams.assignment_close',
    `update assignment set outcome = $outcome, closed_at = clock_timestamp() where id = $id and closed_at is null`,
  ),
  resetLanes: statement<{ id: string }>(
    'teams.assignment_reset_lanes',
    `update assignment set recoveries = 0 where task = $task and closed_at is null`,
  ),
  /** Is there a lane that goes on by itself? */
  lanesGoingOn: statement<{ open: number; going_on: number }>(
    'teams.lanes_going_on',
    `select count(*) as open, count(*) filter (where ${goesOn}) as going_on from assignment a where a.task = $task and a.closed_at is null`,
  ),
  /** Open lanes that wait for Resume: their last Dispatch is closed and nothing follows it. */
  lanesToOpen: statement<{ assignment: string; tail: string; closed_reason: string }>(
    'teams.lanes_to_open',
    `select a.id as assignment, t.id as tail, t.closed_reason
     from assignment a
     join lateral (select d.id, d.closed_reason from dispatch d join job j on j.id = d.id
                   where d.assignment = a.id order by j.seq desc limit 1) t on true
     where a.task = $task and a.closed_at is null and not ${goesOnOrWaits}
     order by a.id`,
  ),
  /** Running Tasks of which no lane can go on (D4, tested again by every sweep), and those with a lane that only waits to be opened. */
  stuckTasks: statement<{ task: string }>(
    'teams.stuck_tasks',
    `select t.id as task from task t where t.status = 'running'
       and exists (select from assignment a where a.task = t.id and a.closed_at is null and not ${goesOnOrWaits})
     order by t.id limit $limit`,
  ),
} as const;

export const dispatchSql = {
  add: statement<DispatchRow>(
    'teams.dispatch_add',
    `insert into dispatch (id, task, assignment, attempt, caused_by, reason, pins, request, continuation, base)
     values ($id, $task, $assignment, $attempt, $caused_by, $reason, $pins::jsonb, $request::jsonb, $continuation::jsonb, $base)`,
  ),
  /** What its machine is given. */
  given: statement<{ task: string; base: string; request: unknown }>(
    'teams.dispatch_given',
    `select task, base, request from dispatch where id = $id`,
  ),
  read: statement<DispatchRow>('teams.dispatch_read', `select ${dispatchColumns} from dispatch where id = $id`),
  current: statement<DispatchRow>(
    'teams.dispatch_current',
    `select ${dispatchColumns} from dispatch where assignment = $assignment and closed_at is null`,
  ),
  open: statement<DispatchRow>(
    'teams.dispatch_open',
    `select ${dispatchColumns} from dispatch where task = $task and closed_at is null order by id`,
  ),
  /** Those whose jobs stand behind all lanes of the Task. */
  awaitingLane: statement<{ assignment: string }>(
    'teams.dispatch_awaiting_lane',
    `select d.assignment from dispatch d join job j on j.id = d.id
     where d.task = $task and d.closed_at is null and j.awaits_lane`,
  ),
  /** closed_at is null: the first end is the last one. */
  close: statement<{ id: string }>(
    'teams.dispatch_close',
    `update dispatch set closed_reason = $reason, closed_at = clock_timestamp(), commit = $commit
     where id = $id and closed_at is null returning id`,
  ),
  /** Where the Assignment last worked: its dependencies are warm there (D15). */
  lastWorker: statement<{ worker: string }>(
    'teams.dispatch_last_worker',
    `select l.worker from (
       select id from dispatch where assignment = $assignment
       union all select id from command_run where assignment = $assignment and purpose = 'member'
     ) work join lease l on l.job = work.id
     order by l.granted_at desc limit 1`,
  ),
  addHandover: statement<{ dispatch: string }>(
    'teams.handover_add',
    `insert into handover (dispatch, epoch, kind, call_id, body, commit, result)
     values ($dispatch, $epoch, $kind, $call_id, $body::jsonb, $commit, $result::jsonb)`,
  ),
  addCheckpoint: statement<{ id: string }>(
    'teams.checkpoint_add',
    `insert into checkpoint (id, task, assignment, dispatch, attempt, member, config_id, basis_id, summary, details, files, outcome)
     values ($id, $task, $assignment, $dispatch, $attempt, $member, $config_id, $basis_id, $summary, $details, $files::jsonb, $outcome)`,
  ),
  /** The root's last word: what the Result reads (I7). */
  boundary: statement<{
    summary: string;
    details: string | null;
    files: readonly { path: string; description?: string }[];
    recorded_at: Date;
    commit: string | null;
    result: unknown;
  }>(
    'teams.dispatch_boundary',
    `select k.summary, k.details, k.files, k.recorded_at, h.commit, h.result
     from dispatch d join handover h on h.dispatch = d.id join checkpoint k on k.dispatch = d.id and k.outcome in ('green', 'blocked')
     where d.assignment = $assignment and d.closed_reason = 'boundary'
     order by k.recorded_at desc limit 1`,
  ),
  latestCheckpoints: statement<{ member: string; summary: string; outcome: string | null }>(
    'teams.checkpoint_latest',
    `select distinct on (member) member, summary, outcome from checkpoint where task = $task order by member, recorded_at desc`,
  ),
  latestCheckpoint: statement<{
    summary: string;
    details: string | null;
    files: readonly FileReference[];
    outcome: 'green' | 'blocked' | 'retry' | null;
    recorded_at: Date;
  }>(
    'teams.checkpoint_latest_of_member',
    `select summary, details, files, outcome, recorded_at from checkpoint where task = $task and member = $member
     order by recorded_at desc limit 1`,
  ),
  /** One Dispatch that has not started yet makes the Task `starting`; one that awaits a lane does so while others work. */
  starting: statement<{ starting: boolean; waiting: boolean }>(
    'teams.dispatch_starting',
    `select exists (select from dispatch d join job j on j.id = d.id
              where d.task = $task and d.closed_at is null and j.started_at is null and not j.awaits_lane) as starting,
            exists (select from human_request h where h.task = $task and h.status = 'open') as waiting`,
  ),
} as const;

const runGoesOn = `state in ('pending_start', 'running', 'cancellation_requested')`;

export const commandRunSql = {
  add: statement<{ id: string }>(
    'teams.command_run_add',
    `insert into command_run (id, name, task, assignment, source_dispatch, purpose, base, command, cwd, timeout_seconds, summary, state)
     values ($id, $name, $task, $assignment, $source_dispatch, $purpose, $base, $command::jsonb, $cwd, $timeout_seconds, $summary,
       'pending_start')`,
  ),
  read: statement<CommandRunRow>(
    'teams.command_run_read',
    `select ${commandRunColumns} from command_run where id = $id`,
  ),
  named: statement<CommandRunRow>(
    'teams.command_run_named',
    `select ${commandRunColumns} from command_run where task = $task and name = $name`,
  ),
  /** Names are unique in the farm (N9). */
  taken: statement<{ id: string }>('teams.command_run_taken', 'select id from command_run where name = $name'),
  /** What a Dispatch waits for, or waited for. */
  ofDispatch: statement<CommandRunRow>(
    'teams.command_run_of_dispatch',
    `select ${commandRunColumns} from command_run where source_dispatch = $dispatch and purpose = 'member'`,
  ),
  /** command_result: what a Dispatch goes on from is this command's end, and no other cause of that id (H29). */
  before: statement<CommandRunRow>(
    'teams.command_run_before',
    `select ${commandRunColumns} from command_run where id = (
       select caused_by from dispatch where id = $dispatch and reason = 'command_result'
     )`,
  ),
  /** Those that go on first, then the newest; and how many there are. */
  ofTask: statement<CommandRunRow & { readonly total: number }>(
    'teams.command_run_of_task',
    `select ${commandRunColumns}, count(*) over () as total from command_run where task = $task
     order by ended_at is not null, opened_at desc, id limit $limit`,
  ),
  goingOn: statement<CommandRunRow>(
    'teams.command_run_going_on',
    `select ${commandRunColumns} from command_run where task = $task and purpose = 'member' and ${runGoesOn} order by id`,
  ),
  /** Queued for one machine alone. */
  waitingForMachine: statement<{ id: string; worker: string }>(
    'teams.command_run_waiting_for_machine',
    `select c.id, j.prefer as worker from command_run c join job j on j.id = c.id
     where c.state = 'pending_start' and j.state = 'queued' and j.prefer is not null order by c.id limit $limit`,
  ),
  verification: statement<CommandRunRow>(
    'teams.command_run_verification',
    `select ${commandRunColumns} from command_run where task = $task and purpose = 'verify'`,
  ),
  /** pending_start: what was asked to end meanwhile keeps that word. */
  start: statement<CommandRunRow>(
    'teams.command_run_start',
    `update command_run set state = case when state = 'pending_start' then 'running' else state end, epoch = $epoch,
       started_at = clock_timestamp(), due_at = clock_timestamp() + make_interval(secs => timeout_seconds)
     where id = $id and started_at is null and ${runGoesOn}
     returning ${commandRunColumns}`,
  ),
  /** losses < most: the caller ends it (D15). */
  countLoss: statement<{ losses: number }>(
    'teams.command_run_count_loss',
    `update command_run set losses = losses + 1 where id = $id and losses + 1 < $most::int returning losses`,
  ),
  requestCancel: statement<{ id: string }>(
    'teams.command_run_request_cancel',
    `update command_run set state = 'cancellation_requested', ended_by = $by where id = $id and state in ('pending_start', 'running')
     returning id`,
  ),
  /** The first end is the last one. */
  end: statement<CommandRunRow>(
    'teams.command_run_end',
    `update command_run set state = $state, exit_code = $exit_code, failure_code = $failure_code, detail = $detail, tail = $tail,
       isolation = $isolation::jsonb, observed_bytes = $observed_bytes, written_bytes = $written_bytes,
       output_complete = $output_complete, commit = $commit, ended_at = clock_timestamp()
     where id = $id and ${runGoesOn}
     returning ${commandRunColumns}`,
  ),
} as const;

const pushColumns = `task, commit, repository, branch, state, approval, approved_by, asked_by, pull_request, settled_at`;

export const pushSql = {
  read: statement<PushRow>(
    'teams.push_read',
    `select ${pushColumns} from task_push where task = $task and commit = $commit`,
  ),
  ofTask: statement<PushRow>('teams.push_of_task', `select ${pushColumns} from task_push where task = $task`),
  /** Nothing when it waits already, or went out before. */
  wait: statement<{ task: string }>(
    'teams.push_wait',
    `insert into task_push (task, commit, repository, branch, state, approval, asked_by)
     values ($task, $commit, $repository, $branch, 'waiting', $approval, $asked_by)
     on conflict (task, commit) do nothing
     returning task`,
  ),
  /** What went out stays so; an approval is never taken back, and stands for no other origin than it was given for. */
  begin: statement<PushRow>(
    'teams.push_begin',
    `insert into task_push as p (task, commit, repository, branch, state, approval, approved_by, asked_by)
     values ($task, $commit, $repository, $branch, 'pending', $approval, $approved_by, $asked_by)
     on conflict (task, commit) do update set
       state = case when p.state = 'pushed' then p.state else 'pending' end,
       repository = excluded.repository, approval = excluded.approval,
       approved_by = case when p.approval is distinct from excluded.approval then excluded.approved_by
         else coalesce(p.approved_by, excluded.approved_by) end`,
  ),
  /** state <> $state: one that is told already is not told again. */
  settle: statement<PushRow>(
    'teams.push_settle',
    `update task_push set state = $state, settled_at = clock_timestamp()
     where task = $task and commit = $commit and state <> $state
     returning ${pushColumns}`,
  ),
  keepPullRequest: statement<PushRow>(
    'teams.push_keep_pull_request',
    `update task_push set pull_request = $pull_request::jsonb where task = $task and commit = $commit`,
  ),
} as const;

export const rescueSql = {
  /**
   * Every pack that arrives stands here until a row accepts its commit: so none is forgotten, whatever dies when (H10, D20). One that
   * is accepted already comes again in vain.
   */
  add: statement<{ job: string }>(
    'teams.rescue_add',
    `insert into rescue (job, epoch, commit, task, member, why)
     select $job, $epoch, $commit, $task, $member, $why
     where not exists (select from dispatch d where d.id = $job and d.commit = $commit)
       and not exists (select from command_run c where c.id = $job and c.commit = $commit)
     on conflict (job, epoch, commit) do update set why = excluded.why`,
  ),
  arrived: statement<{ job: string }>(
    'teams.rescue_arrived',
    `select job from rescue where job = $job and epoch = $epoch and commit = $commit`,
  ),
  accepted: statement<{ job: string }>(
    'teams.rescue_accepted',
    `delete from rescue where job = $job and epoch = $epoch and commit = $commit`,
  ),
  /** Not the pack of a lease that is still held: it is on its way to be accepted. */
  ofTask: statement<{ job: string; epoch: number; commit: string; member: string; why: string; kept_at: Date }>(
    'teams.rescue_of_task',
    `select r.job, r.epoch, r.commit, r.member, r.why, r.kept_at from rescue r join job j on j.id = r.job
     where r.task = $task and not (j.state = 'leased' and j.epoch = r.epoch and j.end_kind is distinct from 'cancel')
     order by r.kept_at, r.job, r.epoch`,
  ),
} as const;

export const attentionSql = {
  /** xmax: of a row that was there already it names this transaction. */
  open: statement<{ is_new: boolean }>(
    'teams.attention_open',
    `insert into attention (id, task, job, kind, summary) values ($id, $task, $job, $kind, $summary)
     on conflict (coalesce(task, ''), coalesce(job, '00000000-0000-0000-0000-000000000000'), kind) where closed_at is null
     do update set summary = excluded.summary
     returning xmax = 0 as is_new`,
  ),
  closeOfTask: statement<{ id: string }>(
    'teams.attention_close_of_task',
    `update attention set closed_at = clock_timestamp() where task = $task and closed_at is null and kind = any($kinds::text[])`,
  ),
  closeOfJob: statement<{ id: string }>(
    'teams.attention_close_of_job',
    `update attention set closed_at = clock_timestamp() where job = $job and kind = $kind and closed_at is null`,
  ),
  ofTask: statement<{ kind: string; summary: string }>(
    'teams.attention_of_task',
    `select kind, summary from attention where task = $task and closed_at is null order by opened_at, id`,
  ),
  all: statement<{ task: string | null; kind: string; summary: string }>(
    'teams.attention_all',
    `select task, kind, summary from attention where closed_at is null order by opened_at, id limit $limit`,
  ),
  openJobs: statement<{ job: string; summary: string }>(
    'teams.attention_open_jobs',
    `select job, summary from attention where kind = $kind and closed_at is null and job is not null`,
  ),
} as const;
