import { statement } from '#store';
import type { PersonRole } from '../principal.js';

export interface PersonRow {
  readonly id: string;
  readonly name: string;
  readonly role: PersonRole;
  /** Null: comes in by password only. */
  readonly public_key: string | null;
}

export interface WorkerRow {
  readonly id: string;
  readonly name: string;
  readonly public_key: string;
  readonly pool: string;
  readonly project: string | null;
  readonly labels: readonly string[];
  readonly slot_ceiling: number;
  readonly announced_labels: readonly string[] | null;
  readonly slots: number | null;
  readonly busy: number;
  readonly accounts: unknown;
  readonly host: string | null;
  readonly boot: string | null;
  readonly seen_at: Date | null;
  readonly seen_wall_at: Date | null;
  readonly goodbye_at: Date | null;
  readonly paused_at: Date | null;
  readonly draining_at: Date | null;
  readonly note: string | null;
  readonly refuses: string | null;
  readonly environment_failures: unknown;
  readonly quarantined_at: Date | null;
  readonly quarantine_reason: string | null;
  /** Heard within a lease time of farm time, and of wall time. */
  readonly live: boolean;
  readonly heard: boolean;
}

/** $lease_ms: farm time decides for the farm (`live`), wall time tells people what they would see for themselves (`heard`). */
const workerColumns = `
  p.id, p.name, p.public_key, w.pool, w.project, w.labels, w.slot_ceiling, w.announced_labels, w.slots, w.busy, w.accounts,
  w.host, w.boot, w.seen_at, w.seen_wall_at, w.goodbye_at, w.paused_at, w.draining_at, w.note, w.refuses, w.environment_failures,
  w.quarantined_at, w.quarantine_reason,
  coalesce(w.seen_at > (select farm_now()) - make_interval(secs => $lease_ms / 1000.0), false) as live,
  coalesce(w.seen_wall_at > clock_timestamp() - make_interval(secs => $lease_ms / 1000.0), false) as heard`;

/** All hand-written SQL of the gate. */
export const gateSql = {
  person: statement<PersonRow>(
    'gate.person',
    `select id, name, role, public_key from principal where id = $id and kind = 'person' and disabled_at is null`,
  ),

  anyPerson: statement<{ id: string }>('gate.any_person', `select id from principal where kind = 'person' limit 1`),

  /** Controllers that start together make one first person: the lock is held until the commit. */
  lockFirstPerson: statement<unknown>('gate.lock_first_person', 'select pg_advisory_xact_lock(7305002)'),

  insertPerson: statement<unknown>(
    'gate.insert_person',
    `insert into principal (id, kind, name, role, public_key) values ($id, 'person', $name, $role, $public_key)`,
  ),

  worker: statement<WorkerRow>(
    'gate.worker',
    `select ${workerColumns} from worker w join principal p using (id) where w.id = $id and p.disabled_at is null`,
  ),

  workers: statement<WorkerRow>(
    'gate.workers',
    `select ${workerColumns} from worker w join principal p using (id) where p.disabled_at is null order by w.id`,
  ),

  liveWorkers: statement<WorkerRow>(
    'gate.live_workers',
    `select ${workerColumns} from worker w join principal p using (id)
     where p.disabled_at is null and w.goodbye_at is null and w.boot is not null
       and w.seen_at > (select farm_now()) - make_interval(secs => $lease_ms / 1000.0)
     order by w.id`,
  ),

  principalOfKey: statement<{ id: string; kind: string }>(
    'gate.principal_of_key',
    'select id, kind from principal where public_key = $public_key',
  ),

  insertWorkerPrincipal: statement<unknown>(
    'gate.insert_worker_principal',
    `insert into principal (id, kind, name, public_key) values ($id, 'worker', $name, $public_key)`,
  ),

  /** What is fixed at enrolment comes from the ticket alone (H26). */
  insertWorker: statement<unknown>(
    'gate.insert_worker',
    `insert into worker (id, pool, project, labels, slot_ceiling, host)
     values ($id, $pool, $project, $labels, $slot_ceiling, $host)`,
  ),

  insertJoinTicket: statement<unknown>(
    'gate.insert_join_ticket',
    `insert into ticket (hash, kind, bound_to, expires_at)
     values ($hash, 'join', $bound_to, clock_timestamp() + make_interval(secs => $seconds))`,
  ),

  /**
   * Takes a join ticket for a key. No row: unknown, expired, or another key has shown it.
   *  used_by is null or the same key   the first key that shows it has it; the same key asks again after a lost reply (D16, H36)
   *  expires_at                        only for the first showing: a reply may be lost in the ticket's last second
   */
  takeJoinTicket: statement<{ bound_to: unknown }>(
    'gate.take_join_ticket',
    `update ticket set used_at = coalesce(used_at, clock_timestamp()), used_by = $public_key
     where hash = $hash and kind = 'join'
       and (used_by = $public_key or (used_by is null and expires_at > clock_timestamp()))
     returning bound_to`,
  ),

  /** A day after their end nobody asks for them again, not even for a lost reply. */
  forgetTickets: statement<unknown>(
    'gate.forget_tickets',
    `delete from ticket where expires_at < clock_timestamp() - interval '1 day'`,
  ),

  /**
   * Gives the identity to a boot. No row: another boot has it (D16).
   *  boot = $boot          the holder asks for its next token
   *  goodbye_at            the other has said that it is gone
   *  seen_at               the other was silent for a lease time, so none of its leases lives; farm time, or an outage of ours
   *                        would take identities away
   */
  takeIdentity: statement<{ id: string }>(
    'gate.take_identity',
    `update worker
     set boot = $boot, host = coalesce($host, host), seen_at = (select farm_now()), seen_wall_at = clock_timestamp(),
         goodbye_at = null,
         draining_at = case when boot = $boot then draining_at end
     where id = $id
       and (boot is null or boot = $boot or goodbye_at is not null
         or seen_at <= (select farm_now()) - make_interval(secs => $lease_ms / 1000.0))
     returning id`,
  ),

  /**
   * What a worker says of itself. No row: another boot has the identity by now (D16).
   *  slots   at most the ceiling of its enrolment (H26)
   */
  beat: statement<{
    draining: boolean;
    paused: boolean;
    quarantine_reason: string | null;
    config_version: number;
  }>(
    'gate.beat',
    `update worker
     set announced_labels = $labels, slots = least($slots::integer, slot_ceiling), busy = $busy, accounts = $accounts,
         versions = $versions, load = $load, host = coalesce($host, host), refuses = $refuses,
         seen_at = (select farm_now()), seen_wall_at = clock_timestamp(),
         goodbye_at = case when $goodbye then (select farm_now()) else goodbye_at end
     where id = $id and boot = $boot
     returning draining_at is not null as draining, paused_at is not null as paused, quarantine_reason,
       coalesce((select generation from allowed_file), 0) as config_version`,
  ),

  pauseWorker: statement<unknown>(
    'gate.pause_worker',
    'update worker set paused_at = coalesce(paused_at, clock_timestamp()), note = $note where id = $id',
  ),

  drainWorker: statement<unknown>(
    'gate.drain_worker',
    'update worker set draining_at = coalesce(draining_at, clock_timestamp()), note = $note where id = $id',
  ),

  resumeWorker: statement<unknown>(
    'gate.resume_worker',
    `update worker set paused_at = null, draining_at = null, note = null, quarantined_at = null, quarantine_reason = null,
       environment_failures = '[]'
     where id = $id`,
  ),

  /**
   * One more failure of the machine in a row. Quarantine at $most different scopes: one bad job can not send a machine away, and
   * a machine that is at fault is at fault for all (H11).
   */
  environmentFailure: statement<{ quarantined: boolean }>(
    'gate.environment_failure',
    `with counted as (
       select id, case when environment_failures @> jsonb_build_array($scope::text) then environment_failures
         else environment_failures || jsonb_build_array($scope::text) end as failures
       from worker where id = $id for update
     )
     update worker w
     set environment_failures = c.failures,
         quarantined_at = case when jsonb_array_length(c.failures) >= $most::integer
           then coalesce(w.quarantined_at, clock_timestamp()) else w.quarantined_at end,
         quarantine_reason = case when jsonb_array_length(c.failures) >= $most::integer
           then coalesce(w.quarantine_reason, $reason) else w.quarantine_reason end
     from counted c where w.id = c.id
     returning w.quarantined_at is not null as quarantined`,
  ),

  environmentSuccess: statement<unknown>(
    'gate.environment_success',
    `update worker set environment_failures = '[]' where id = $id and environment_failures <> '[]'`,
  ),

  /** The rows of one call, or of all that share a transaction, in their order. */
  audit: statement<unknown>(
    'gate.audit',
    `insert into audit (kind, door, class, actor, agent_id, input_hash, hash_key_id, outcome, job_id, epoch, calls)
     select kind, door, class, actor, agent_id, input_hash, $hash_key_id, outcome, job_id, epoch, calls
     from unnest($kinds::text[], $doors::text[], $classes::text[], $actors::text[], $agents::text[], $hashes::bytea[],
         $outcomes::text[], $jobs::uuid[], $epochs::bigint[], $counts::integer[])
       with ordinality as a (kind, door, class, actor, agent_id, input_hash, outcome, job_id, epoch, calls, n)
     order by n`,
  ),

  beatAudited: statement<{ seq: number }>(
    'gate.beat_audited',
    `select seq from audit where job_id = $job_id and epoch = $epoch and kind = $kind limit 1`,
  ),
};
