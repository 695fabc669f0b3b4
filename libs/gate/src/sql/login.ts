import { statement } from '#store';
import type { PersonRole } from '../principal.js';

/** A person as a login is judged by. */
export interface LoginRow {
  readonly id: string;
  readonly name: string;
  readonly role: PersonRole;
  readonly login_epoch: number;
  readonly hash: string;
  /** The password is one that an admin made, for the first login. */
  readonly setup: boolean;
}

export interface PersonListRow {
  readonly id: string;
  readonly name: string;
  readonly role: PersonRole;
  readonly disabled: boolean;
  readonly password: 'none' | 'setup' | 'own';
  readonly sessions: number;
  readonly created_at: Date;
}

export interface SessionRow {
  readonly id: string;
  readonly person: string;
  readonly name: string;
  readonly role: PersonRole;
  readonly login_epoch: number;
  readonly public_key: string | null;
  readonly expires_at: Date;
  /** Its last use was written too long ago. */
  readonly stale: boolean;
}

export interface SessionListRow {
  readonly id: string;
  readonly kind: 'browser' | 'cli';
  readonly client: string;
  readonly created_at: Date;
  readonly used_at: Date;
  readonly expires_at: Date;
}

export interface DeviceRow {
  readonly client: string;
  readonly address: string;
  readonly created_at: Date;
}

export interface PolledRow {
  readonly public_key: string;
  readonly client: string;
  readonly person: string | null;
  readonly login_epoch: number | null;
  readonly approved: boolean | null;
  readonly taken: boolean;
  readonly expired: boolean;
  /** Asked again sooner than it was told. */
  readonly hasty: boolean;
}

export interface ServiceRow {
  readonly id: string;
  readonly name: string;
  readonly role: PersonRole;
  readonly creator_role: PersonRole;
  readonly audience: 'cli' | 'mcp';
  readonly stale: boolean;
}

export interface ServiceListRow {
  readonly id: string;
  readonly name: string;
  readonly role: PersonRole;
  readonly audience: 'cli' | 'mcp';
  readonly creator: string;
  readonly creator_disabled: boolean;
  readonly created_at: Date;
  readonly expires_at: Date;
  readonly used_at: Date | null;
  readonly revoked: boolean;
  readonly expired: boolean;
}

/**
 * A session that still opens something.
 *  disabled_at   its person may come in
 *  login_epoch   neither password nor role has changed since it was made
 *  expires_at    absolute
 *  used_at       and it was not left alone for too long
 */
const liveSession = `
  p.disabled_at is null and s.login_epoch = p.login_epoch and s.expires_at > clock_timestamp()
  and s.used_at > clock_timestamp() - make_interval(secs => s.idle_seconds)`;

const sessionColumns = `
  s.id, s.person, p.name, p.role, s.login_epoch, s.public_key, s.expires_at,
  s.used_at < clock_timestamp() - make_interval(secs => $last_use_seconds) as stale`;

const personColumns = `
  p.id, p.name, p.role, p.disabled_at is not null as disabled, p.created_at,
  case when w.person is null then 'none' when w.setup_until is not null then 'setup' else 'own' end as password,
  (select count(*) from person_session s where s.person = p.id and ${liveSession})::integer as sessions`;

const serviceColumns = `
  t.id, v.name, v.role, t.audience, p.name as creator, p.disabled_at is not null as creator_disabled, t.created_at,
  t.expires_at, t.used_at, t.revoked_at is not null as revoked, t.expires_at <= clock_timestamp() as expired`;

/** How people come in. */
export const loginSql = {
  /**
   * Counts an attempt before it is made, so that a thousand at once are a thousand. No row: it is too soon.
   *  next_at   the wait after the attempt before; it does not grow by asking again
   *  seen_at   what was long ago is forgotten
   */
  takeAttempt: statement<{ failures: number }>(
    'login.take_attempt',
    `insert into login_attempt as a (key, failures, next_at, seen_at)
     values ($key, 1, clock_timestamp(), clock_timestamp())
     on conflict (key) do update
     set failures = case when a.seen_at < clock_timestamp() - make_interval(secs => $forget_seconds) then 1
           else a.failures + 1 end,
         next_at = clock_timestamp() + make_interval(secs => case
           when a.seen_at < clock_timestamp() - make_interval(secs => $forget_seconds) or a.failures < $free then 0
           else least($most_seconds::double precision, power(2, least(a.failures - $free, 20))) end),
         seen_at = clock_timestamp()
     where a.next_at <= clock_timestamp()
     returning failures`,
  ),

  attemptWait: statement<{ seconds: number }>(
    'login.attempt_wait',
    `select greatest(extract(epoch from next_at - clock_timestamp()), 0)::double precision as seconds
     from login_attempt where key = $key`,
  ),

  forgetAttempts: statement<unknown>('login.forget_attempts', 'delete from login_attempt where key = $key'),

  /** One success takes back its own count, and never what was counted beyond the free ones. */
  forgiveAttempt: statement<unknown>(
    'login.forgive_attempt',
    'update login_attempt set failures = failures - 1 where key = $key and failures between 1 and $free',
  ),

  sweepAttempts: statement<unknown>(
    'login.sweep_attempts',
    `delete from login_attempt where seen_at < clock_timestamp() - interval '1 day'`,
  ),

  /** A setup password that has lapsed is none. */
  loginOf: statement<LoginRow>(
    'login.login_of',
    `select p.id, p.name, p.role, p.login_epoch, w.hash, w.setup_until is not null as setup
     from principal p join person_password w on w.person = p.id
     where p.kind = 'person' and p.name = $name and p.disabled_at is null
       and (w.setup_until is null or w.setup_until > clock_timestamp())`,
  ),

  setPassword: statement<unknown>(
    'login.set_password',
    `insert into person_password (person, hash, setup_until)
     values ($person, $hash, clock_timestamp() + make_interval(secs => $setup_seconds))
     on conflict (person) do update set hash = excluded.hash, setup_until = excluded.setup_until, set_at = excluded.set_at`,
  ),

  setOwnPassword: statement<unknown>(
    'login.set_own_password',
    'insert into person_password (person, hash) values ($person, $hash)',
  ),

  /** No row: another login has changed it meanwhile. */
  changePassword: statement<{ person: string }>(
    'login.change_password',
    `update person_password set hash = $hash, setup_until = null, set_at = clock_timestamp()
     where person = $person and hash = $old_hash
     returning person`,
  ),

  /** The same password under today's parameters. */
  rehashPassword: statement<unknown>(
    'login.rehash_password',
    'update person_password set hash = $hash where person = $person and hash = $old_hash',
  ),

  /** Ends all sessions of a person, also those that are being made under the older number. */
  endSessions: statement<{ login_epoch: number }>(
    'login.end_sessions',
    'update principal set login_epoch = login_epoch + 1 where id = $person returning login_epoch',
  ),

  persons: statement<PersonListRow>(
    'login.persons',
    `select ${personColumns} from principal p left join person_password w on w.person = p.id
     where p.kind = 'person' order by p.name`,
  ),

  personNamed: statement<PersonListRow>(
    'login.person_named',
    `select ${personColumns} from principal p left join person_password w on w.person = p.id
     where p.kind = 'person' and p.name = $name`,
  ),

  createPerson: statement<{ id: string }>(
    'login.create_person',
    `insert into principal (id, kind, name, role) values ($id, 'person', $name, $role)
     on conflict do nothing returning id`,
  ),

  setRole: statement<unknown>('login.set_role', 'update principal set role = $role where id = $person'),

  disable: statement<unknown>(
    'login.disable',
    'update principal set disabled_at = coalesce(disabled_at, clock_timestamp()) where id = $person',
  ),

  enable: statement<unknown>('login.enable', 'update principal set disabled_at = null where id = $person'),

  /** Two admins that lower each other at once come one after the other. Held until the commit. */
  lockAdmins: statement<unknown>('login.lock_admins', 'select pg_advisory_xact_lock(7305002)'),

  otherAdmin: statement<{ id: string }>(
    'login.other_admin',
    `select id from principal
     where kind = 'person' and role = 'admin' and disabled_at is null and id <> $person limit 1`,
  ),

  insertSession: statement<{ expires_at: Date }>(
    'login.insert_session',
    `insert into person_session (id, person, kind, secret_hash, public_key, login_epoch, client, idle_seconds, expires_at)
     values ($id, $person, $kind, $secret_hash, $public_key, $login_epoch, $client, $idle_seconds,
       clock_timestamp() + make_interval(secs => $seconds))
     returning expires_at`,
  ),

  /** Keeps the newest. */
  trimSessions: statement<unknown>(
    'login.trim_sessions',
    `delete from person_session where id in (
       select id from person_session where person = $person order by created_at desc, id offset $most)`,
  ),

  sessionOfSecret: statement<SessionRow>(
    'login.session_of_secret',
    `select ${sessionColumns} from person_session s join principal p on p.id = s.person
     where s.secret_hash = $secret_hash and ${liveSession}`,
  ),

  session: statement<SessionRow>(
    'login.session',
    `select ${sessionColumns} from person_session s join principal p on p.id = s.person
     where s.id = $id and s.person = $person and ${liveSession}`,
  ),

  touchSession: statement<unknown>(
    'login.touch_session',
    `update person_session set used_at = clock_timestamp()
     where id = $id and used_at < clock_timestamp() - make_interval(secs => $last_use_seconds)`,
  ),

  sessions: statement<SessionListRow>(
    'login.sessions',
    `select s.id, s.kind, s.client, s.created_at, s.used_at, s.expires_at
     from person_session s join principal p on p.id = s.person
     where s.person = $person and ${liveSession} order by s.created_at desc, s.id`,
  ),

  endSession: statement<{ id: string }>(
    'login.end_session',
    'delete from person_session where id = $id and person = $person returning id',
  ),

  sweepSessions: statement<unknown>(
    'login.sweep_sessions',
    `delete from person_session s using principal p where p.id = s.person and not (${liveSession})`,
  ),

  /** No row: this network has too many open. */
  insertDevice: statement<{ hash: Buffer }>(
    'login.insert_device',
    `insert into device_login (hash, user_code, client, address, network, public_key, interval_seconds, expires_at)
     select $hash::bytea, $user_code::text, $client::text, $address::text, $network::text, $public_key::text, $interval_seconds::integer,
       clock_timestamp() + make_interval(secs => $seconds)
     where (select count(*) from device_login where network = $network and expires_at > clock_timestamp()) < $most::integer
     returning hash`,
  ),

  /** Undecided only: a code is good for one decision. */
  deviceOfCode: statement<DeviceRow>(
    'login.device_of_code',
    `select client, address, created_at from device_login
     where user_code = $user_code and approved is null and expires_at > clock_timestamp()`,
  ),

  decideDevice: statement<{ client: string }>(
    'login.decide_device',
    `update device_login set person = $person, login_epoch = $login_epoch, approved = $approved
     where user_code = $user_code and approved is null and expires_at > clock_timestamp()
     returning client`,
  ),

  /** Locks the row: two polls at once are one after the other. A hasty one is told to wait longer from now on (RFC 8628 §3.5). */
  pollDevice: statement<PolledRow>(
    'login.poll_device',
    `with polled as (
       select hash, coalesce(polled_at > clock_timestamp() - make_interval(secs => interval_seconds), false) as hasty
       from device_login where hash = $hash for update
     )
     update device_login d
     set polled_at = clock_timestamp(),
         interval_seconds = least(d.interval_seconds + case when p.hasty then 5 else 0 end, 60)
     from polled p where d.hash = p.hash
     returning d.public_key, d.client, d.person, d.login_epoch, d.approved, d.taken_at is not null as taken,
       d.expires_at <= clock_timestamp() as expired, p.hasty`,
  ),

  takeDevice: statement<unknown>(
    'login.take_device',
    'update device_login set taken_at = clock_timestamp() where hash = $hash',
  ),

  sweepDevices: statement<unknown>(
    'login.sweep_devices',
    `delete from device_login where expires_at < clock_timestamp() - interval '1 hour'`,
  ),

  /** The epoch of a person who may come in and whose number has not moved. */
  personAt: statement<{ id: string; name: string; role: PersonRole }>(
    'login.person_at',
    `select id, name, role from principal
     where id = $person and kind = 'person' and disabled_at is null and login_epoch = $login_epoch`,
  ),

  insertServicePrincipal: statement<unknown>(
    'login.insert_service_principal',
    `insert into principal (id, kind, name, role) values ($id, 'service', $name, $role)`,
  ),

  insertService: statement<{ expires_at: Date }>(
    'login.insert_service',
    `insert into service_token (id, created_by, hash, audience, expires_at)
     values ($id, $created_by, $hash, $audience, clock_timestamp() + make_interval(days => $days))
     returning expires_at`,
  ),

  liveServices: statement<{ count: number }>(
    'login.live_services',
    `select count(*)::integer as count from service_token
     where created_by = $person and revoked_at is null and expires_at > clock_timestamp()`,
  ),

  /** A token is worth what its creator may do, and nothing once they may not come in. */
  serviceOfHash: statement<ServiceRow>(
    'login.service_of_hash',
    `select t.id, v.name, v.role, p.role as creator_role, t.audience,
       coalesce(t.used_at < clock_timestamp() - make_interval(secs => $last_use_seconds), true) as stale
     from service_token t join principal v on v.id = t.id join principal p on p.id = t.created_by
     where t.hash = $hash and t.revoked_at is null and t.expires_at > clock_timestamp() and p.disabled_at is null`,
  ),

  touchService: statement<unknown>(
    'login.touch_service',
    `update service_token set used_at = clock_timestamp()
     where id = $id and coalesce(used_at < clock_timestamp() - make_interval(secs => $last_use_seconds), true)`,
  ),

  /** $person null: of everybody. */
  services: statement<ServiceListRow>(
    'login.services',
    `select ${serviceColumns}
     from service_token t join principal v on v.id = t.id join principal p on p.id = t.created_by
     where $person::text is null or t.created_by = $person order by t.created_at desc, t.id`,
  ),

  revokeService: statement<ServiceListRow>(
    'login.revoke_service',
    `with revoked as (
       update service_token set revoked_at = coalesce(revoked_at, clock_timestamp())
       where id = $id and ($person::text is null or created_by = $person)
       returning *
     )
     select ${serviceColumns}
     from revoked t join principal v on v.id = t.id join principal p on p.id = t.created_by`,
  ),

  /** Controllers rotate the one key file one after the other. Held until the commit. */
  lockKeys: statement<unknown>('login.lock_keys', 'select pg_advisory_xact_lock(7305003)'),

  /** What people did before the gate. */
  note: statement<unknown>(
    'login.note',
    `insert into audit (kind, door, class, actor, outcome) values ($kind, $door, 'user', $actor, 'ok')`,
  ),
};
