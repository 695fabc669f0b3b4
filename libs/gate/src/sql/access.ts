import { statement } from '#store';
import type { Setting } from '../access/access-rows.js';

/** One snapshot of what step 1 reads; settings only where the reader knows another version. */
interface AccessRow {
  readonly version: number;
  readonly settings: readonly Setting[] | null;
  readonly lifted: readonly string[] | null;
  readonly enabled: boolean;
  readonly grants: readonly string[];
}

/** Hand-written SQL of what is offered and given. */
export const accessSql = {
  /**
   * In one statement: settings, grants and the agent itself are of one moment (A3.12).
   *  $known   version that the caller has the settings of already: they are read only when they have changed
   *  $agent   null for who is no agent: enabled, and without a grant
   */
  rows: statement<AccessRow>(
    'access.rows',
    `select f.settings_version as version,
       case when f.settings_version <> $known::bigint then (
         select coalesce(json_agg(json_build_object('target', target, 'owner', owner, 'offered', offered)), '[]')
         from operation_settings
       ) end as settings,
       case when f.settings_version <> $known::bigint then (
         select coalesce(json_agg(target), '[]') from operation_lift
       ) end as lifted,
       $agent::text is null or exists (
         select from principal p join agent a using (id)
         where p.id = $agent and p.disabled_at is null and a.revoked_at is null
       ) as enabled,
       array(select target from agent_grant where agent = $agent) as grants
     from farm f`,
  ),

  version: statement<{ version: number }>('access.version', 'select settings_version as version from farm'),

  /**
   * Held by a call until its commit: what it was judged by can not change meanwhile, and who changes it waits (A4.10). Shared, so
   * that calls do not wait for each other.
   */
  lockToCall: statement<unknown>('access.lock_to_call', 'select pg_advisory_xact_lock_shared(7305012)'),

  /** First thing of every change of settings, grants and agents, before any other lock. */
  lockToChange: statement<unknown>('access.lock_to_change', 'select pg_advisory_xact_lock(7305012)'),

  settings: statement<Setting & { readonly changed_at: Date; readonly changed_by: string }>(
    'access.settings',
    'select target, owner, offered, changed_at, changed_by from operation_settings order by target, owner',
  ),

  lifts: statement<{ target: string }>('access.lifts', 'select target from operation_lift order by target'),

  putSetting: statement<unknown>(
    'access.put_setting',
    `insert into operation_settings (target, owner, offered, changed_by) values ($target, $owner, $offered, $by)
     on conflict (target, owner)
     do update set offered = excluded.offered, changed_by = excluded.changed_by, changed_at = clock_timestamp()`,
  ),

  dropSetting: statement<unknown>(
    'access.drop_setting',
    'delete from operation_settings where target = $target and owner = $owner',
  ),

  lift: statement<unknown>('access.lift', 'insert into operation_lift (target) values ($target)'),

  unlift: statement<unknown>('access.unlift', 'delete from operation_lift where target = $target'),

  allowedFile: statement<{ generation: number; hash: string }>(
    'access.allowed_file',
    'select generation, hash from allowed_file',
  ),

  keepAllowedFile: statement<unknown>(
    'access.keep_allowed_file',
    `insert into allowed_file (generation, hash) values ($generation, $hash)
     on conflict (one)
     do update set generation = excluded.generation, hash = excluded.hash, applied_at = clock_timestamp()`,
  ),

  noteChange: statement<unknown>(
    'access.note_change',
    `insert into access_change (kind, owner, target, before, after, changed_by)
     values ($kind, $owner, $target, $before, $after, $by)`,
  ),
};
