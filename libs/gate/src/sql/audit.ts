import { statement } from '#store';

export interface AuditedRow {
  readonly seq: number;
  readonly at: Date;
  readonly kind: string;
  readonly door: string;
  readonly class: string;
  readonly actor: string | null;
  readonly actor_name: string | null;
  readonly agent_id: string | null;
  readonly agent_name: string | null;
  readonly input_hash: Buffer | null;
  readonly hash_key_id: string | null;
  readonly outcome: string;
  readonly job_id: string | null;
  readonly epoch: number | null;
  readonly calls: number;
  readonly sealed: boolean;
}

export interface SealRow {
  readonly n: number;
  readonly seq: number;
  readonly mac: Buffer;
  readonly key_id: string;
  readonly lost: string | null;
}

export interface SealedRow extends SealRow {
  /** Null: the row is gone. */
  readonly content: string | null;
}

/**
 * A row of the audit as text, every column of it: the same text in every session, whatever its time zone, and also when a later
 * release has added a column that this row does not fill.
 */
const content = `jsonb_strip_nulls(to_jsonb(a) || jsonb_build_object(
  'at', extract(epoch from a.at), 'input_hash', encode(a.input_hash, 'hex')))::text as content`;

/** Sealing, checking and reading the audit. */
export const auditSql = {
  /** One sealer at a time, until the commit: a second one would give numbers twice. */
  lockSeals: statement<{ mine: boolean }>('audit.lock_seals', 'select pg_try_advisory_xact_lock(7305019) as mine'),

  lastSeal: statement<SealRow>('audit.last_seal', 'select * from audit_seal order by n desc limit 1'),

  seal: statement<SealRow>('audit.seal', 'select * from audit_seal where n = $n'),

  loss: statement<{ n: number }>('audit.loss', 'select n from audit_seal where lost = $lost limit 1'),

  /**
   * Oldest number first. A row that was removed before it was sealed stays listed, for `audit_verify` to name.
   *  offset 0   each row by its number: a join is planned for any number of them and may read the whole audit for a few
   */
  unsealed: statement<{ seq: number; content: string }>(
    'audit.unsealed',
    `select a.seq, ${content}
     from (select seq from audit_unsealed order by seq offset 0) u
       cross join lateral (select * from audit where seq = u.seq offset 0) a
     order by u.seq limit $limit`,
  ),

  insertSeals: statement<unknown>(
    'audit.insert_seals',
    `insert into audit_seal (n, seq, mac, key_id, lost)
     select $after::bigint + s.place, s.seq, s.mac, $key_id, case when s.place = 1 then $lost::text end
     from unnest($seqs::bigint[], $macs::bytea[]) with ordinality as s (seq, mac, place)`,
  ),

  forgetUnsealed: statement<unknown>(
    'audit.forget_unsealed',
    'delete from audit_unsealed where seq = any($seqs::bigint[])',
  ),

  countUnsealed: statement<{ waiting: number }>(
    'audit.count_unsealed',
    'select count(*) as waiting from audit_unsealed',
  ),

  sealed: statement<SealedRow>(
    'audit.sealed',
    `select s.n, s.seq, s.mac, s.key_id, s.lost, ${content}
     from audit_seal s left join audit a using (seq) where s.n > $after order by s.n limit $limit`,
  ),

  /** Listed as waiting for a seal, and gone. */
  removedUnsealed: statement<{ seq: number }>(
    'audit.removed_unsealed',
    `select u.seq from audit_unsealed u where not exists (select from audit a where a.seq = u.seq) order by u.seq limit $limit`,
  ),

  /** Neither sealed nor waiting: taken off the list, or put in behind its back. */
  neverSealed: statement<{ seq: number }>(
    'audit.never_sealed',
    `select a.seq from audit a
     where not exists (select from audit_seal s where s.seq = a.seq)
       and not exists (select from audit_unsealed u where u.seq = a.seq)
     order by a.seq limit $limit`,
  ),

  /** Whoever has this id or name; machines may share a name. Parts of the farm act, too, and are nobody's rows. */
  whoIs: statement<{ id: string }>(
    'audit.who_is',
    `select id from principal where id = $who or name = $who
     union select $who::text where exists (select from audit where actor = $who)`,
  ),

  /** Newest first. */
  list: statement<AuditedRow>(
    'audit.list',
    `select a.seq, a.at, a.kind, a.door, a.class, a.actor, p.name as actor_name, a.agent_id, m.name as agent_name, a.input_hash,
       a.hash_key_id, a.outcome, a.job_id, a.epoch, a.calls, exists (select from audit_seal s where s.seq = a.seq) as sealed
     from audit a left join principal p on p.id = a.actor left join principal m on m.id = a.agent_id
     where ($before::bigint is null or a.seq < $before)
       and ($actors::text[] is null or a.actor = any($actors))
       and ($agents::text[] is null or a.agent_id = any($agents))
       and ($kind::text is null or a.kind = $kind)
       and ($door::text is null or a.door = $door)
       and ($outcome::text is null or a.outcome = $outcome or ($outcome = 'error' and starts_with(a.outcome, 'error:')))
       and ($job::uuid is null or a.job_id = $job)
       and ($since::timestamptz is null or a.at >= $since)
       and ($until::timestamptz is null or a.at < $until)
     order by a.seq desc limit $limit`,
  ),
};
