import { statement } from '#store';
import type { Pins } from '../rows.js';

interface PolicyRow {
  readonly rules: unknown;
  readonly changed_by: string;
  readonly changed_at: Date;
}

/** Hand-written SQL of the admin's policy: one row, or none. */
export const policySql = {
  read: statement<PolicyRow>('teams.policy_read', 'select rules, changed_by, changed_at from policy'),

  /** Lanes that stand still by the policy, with what their members ask for; in the order in which Tasks are locked (H12). */
  waiting: statement<{ task: string; pins: Pins }>(
    'teams.policy_waiting',
    `select a.task, d.pins from attention a join dispatch d on d.id = a.job
     where a.kind = 'policy_refused' and a.closed_at is null order by a.task`,
  ),

  write: statement<PolicyRow>(
    'teams.policy_write',
    `insert into policy (rules, changed_by) values ($rules, $by)
     on conflict (one) do update set rules = excluded.rules, changed_by = excluded.changed_by, changed_at = clock_timestamp()
     returning rules, changed_by, changed_at`,
  ),
};
