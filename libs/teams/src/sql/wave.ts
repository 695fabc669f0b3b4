import type { FileReference } from '#contracts';
import { statement } from '#store';
import type { Outcome } from '../rows.js';

export interface WaveRow {
  readonly id: string;
  readonly task: string;
  readonly assignment: string;
  readonly source_dispatch: string;
  readonly status: 'open' | 'settled' | 'cancelled';
  readonly created_at: Date;
}

/** A settled place of a Wave, with the line of its child and what the child reported. */
export interface SettledChild {
  readonly position: number;
  readonly member: string;
  readonly assignment: string;
  readonly outcome: Outcome;
  readonly prompt: string;
  readonly asked_files: readonly FileReference[];
  readonly line_base: string;
  readonly line_head: string;
  readonly summary: string;
  readonly details: string | null;
  readonly files: readonly FileReference[];
  readonly recorded_at: Date;
}

/** Hand-written SQL of Waves. */
export const waveSql = {
  add: statement<unknown>(
    'teams.wave_add',
    `insert into wave (id, task, assignment, source_dispatch, team_revision, status)
     values ($id, $task, $assignment, $source_dispatch, $team_revision, 'open')`,
  ),
  addMember: statement<unknown>(
    'teams.wave_add_member',
    `insert into wave_member (wave, position, member, assignment, config_id, basis_id, status)
     values ($wave, $position, $member, $assignment, $config_id, $basis_id, 'pending')`,
  ),
  read: statement<WaveRow>(
    'teams.wave_read',
    `select id, task, assignment, source_dispatch, status, created_at from wave where id = $id`,
  ),
  /** pending, open: the first report is the last one, and none counts for a Wave that was cancelled. */
  settleMember: statement<{ wave: string }>(
    'teams.wave_settle_member',
    `update wave_member m set status = 'settled', outcome = $outcome
     from wave w where w.id = m.wave and w.status = 'open' and m.assignment = $assignment and m.status = 'pending'
     returning m.wave`,
  ),
  /** How many have not reported, and the place of the first of them. */
  pending: statement<{ pending: number; first_pending: number | null }>(
    'teams.wave_pending',
    `select count(*) as pending, min(position) as first_pending from wave_member where wave = $wave and status = 'pending'`,
  ),
  /** Waves whose children have all reported and that nobody has joined, of Tasks that run: also after a lost ring (R11). */
  joinable: statement<{ id: string }>(
    'teams.wave_joinable',
    `select w.id from wave w join task t on t.id = w.task and t.status = 'running'
     where w.status = 'open'
       and not exists (select from wave_member m where m.wave = w.id and m.status = 'pending')
     order by w.created_at limit $limit`,
  ),
  /** One controller at a time joins a Wave; the lock goes with the session (D21). */
  tryJoin: statement<{ mine: boolean }>(
    'teams.wave_try_join',
    `select pg_try_advisory_lock(7305006, hashtext($wave)) as mine`,
  ),
  /** In the order of the request, whoever reported first (I13). */
  children: statement<SettledChild>(
    'teams.wave_children',
    `select m.position, m.member, m.assignment, m.outcome, a.prompt, a.files as asked_files, a.line_base, a.line_head,
       k.summary, k.details, k.files, k.recorded_at
     from wave_member m join assignment a on a.id = m.assignment
     join lateral (select summary, details, files, recorded_at from checkpoint c
       where c.assignment = a.id and c.outcome in ('green', 'blocked') order by recorded_at desc limit 1) k on true
     where m.wave = $wave and m.status = 'settled' order by m.position`,
  ),
  /**
   * Under the lock of its Task.
   *  open      a cancel or a twin was faster (R10)
   *  running   a Task that was paused meanwhile keeps its Wave open until it goes on (D8)
   */
  settle: statement<{ id: string }>(
    'teams.wave_settle',
    `update wave set status = 'settled'
     where id = $id and status = 'open' and exists (select from task where id = wave.task and status = 'running')
     returning id`,
  ),
  /** What the join made of each place. */
  noteMerges: statement<unknown>(
    'teams.wave_note_merges',
    `update wave_member m set merge = made.merge::jsonb, commit = made.commit
     from unnest($positions::int[], $merges::text[], $commits::text[]) as made (position, merge, commit)
     where m.wave = $wave and m.position = made.position`,
  ),
  cancelOfTask: statement<unknown>(
    'teams.wave_cancel_of_task',
    `with waves as (update wave set status = 'cancelled' where task = $task and status = 'open' returning id)
     update wave_member set status = 'cancelled' where wave in (select id from waves) and status = 'pending'`,
  ),
} as const;
