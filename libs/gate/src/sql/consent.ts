import { statement } from '#store';
import type { PersonRole } from '../principal.js';

export type ApprovalState = 'pending' | 'approved' | 'refused' | 'used';

export interface ApprovalRow {
  readonly id: string;
  readonly operation: string;
  readonly actor: string | null;
  readonly agent_id: string | null;
  readonly role: PersonRole;
  readonly summary: string;
  readonly changes: unknown;
  readonly change_count: number;
  readonly state: ApprovalState;
  readonly created_at: Date;
  readonly expires_at: Date;
  readonly decided_by: string | null;
  readonly decided_at: Date | null;
  /** Not over, and of this life of the farm. */
  readonly live: boolean;
}

const approvalColumns = `
  id, operation, actor, agent_id, role, summary, changes, change_count, state, created_at, expires_at, decided_by, decided_at,
  (expires_at > clock_timestamp() and generation = (select generation from farm)) as live`;

/** All hand-written SQL of consent. */
export const consentSql = {
  /** One caller's proposals are counted and issued one after the other, on all controllers (A6.13). */
  lockCaller: statement<unknown>(
    'gate.lock_proposals',
    'select pg_advisory_xact_lock(hashtextextended($caller::text, 7305003))',
  ),

  /** Tickets that nobody can use any more do not count (A6.13). */
  prune: statement<unknown>(
    'gate.prune_confirmations',
    `delete from ticket
     where kind = 'confirm' and principal = $caller
       and (expires_at <= clock_timestamp() or generation <> (select generation from farm))`,
  ),

  /** No row: so many wait already, and a live one is never given up for another (A6.13). */
  issue: statement<{ expires_at: Date }>(
    'gate.issue_confirmation',
    `insert into ticket (hash, kind, principal, bound_to, generation, expires_at)
     select $hash::bytea, 'confirm', $caller::text, $bound_to::jsonb, generation,
       clock_timestamp() + make_interval(secs => $seconds::integer)
     from farm
     where (select count(*) from ticket where kind = 'confirm' and principal = $caller::text) < $most::integer
     returning expires_at`,
  ),

  /**
   * Burns the token, whatever becomes of the call (A6.10, A6.11). Of several that show it at once one gets the row (A6.15).
   *  kind         a join ticket is not burned here
   *  expires_at   over at its last moment (A6.9)
   *  generation   of another life of the farm, or of a database that was put back (T3, H42)
   */
  take: statement<{ bound_to: unknown; live: boolean }>(
    'gate.take_confirmation',
    `delete from ticket where hash = $hash and kind = 'confirm'
     returning bound_to, (expires_at > clock_timestamp() and generation = (select generation from farm)) as live`,
  ),

  /** What the very same proposal of the same caller waits for already. */
  sameApproval: statement<{ id: string }>(
    'gate.same_approval',
    `select id from approval
     where caller = $caller and operation = $operation and input_hash = $input_hash and digest = $digest
       and state in ('pending', 'approved')
       and expires_at > clock_timestamp() and generation = (select generation from farm)
     order by created_at desc limit 1`,
  ),

  /** No row: so many of this caller wait for a person already. */
  askApproval: statement<{ id: string }>(
    'gate.ask_approval',
    `insert into approval (id, caller, operation, input_hash, digest, actor, agent_id, role, summary, changes, change_count,
       generation, expires_at)
     select $id::text, $caller::text, $operation::text, $input_hash::bytea, $digest::bytea, $actor::text, $agent_id::text,
       $role::text, $summary::text, $changes::jsonb, $change_count::integer, generation,
       clock_timestamp() + make_interval(secs => $seconds::integer)
     from farm
     where (select count(*) from approval
       where caller = $caller::text and state = 'pending' and expires_at > clock_timestamp()
         and generation = (select generation from farm)) < $most::integer
     returning id`,
  ),

  approval: statement<ApprovalRow>('gate.approval', `select ${approvalColumns} from approval where id = $id`),

  approvals: statement<ApprovalRow>(
    'gate.approvals',
    `select ${approvalColumns} from approval
     where ($state::text is null or state = $state)
       and (state <> 'pending' or (expires_at > clock_timestamp() and generation = (select generation from farm)))
     order by created_at, id limit $limit`,
  ),

  /**
   * No row: it was decided before, or is over.
   *  state                     the first decision is the last one
   *  expires_at, generation    nobody decides what can not be used any more
   */
  decide: statement<{ state: ApprovalState }>(
    'gate.decide_approval',
    `update approval set state = $state, decided_by = $by, decided_at = clock_timestamp()
     where id = $id and state = 'pending'
       and expires_at > clock_timestamp() and generation = (select generation from farm)
     returning state`,
  ),

  /** In the transaction of the call that it is for: a person approves once for one effect. No row: it may not run. */
  useApproval: statement<{ id: string }>(
    'gate.use_approval',
    `update approval set state = 'used'
     where id = $id and state = 'approved'
       and expires_at > clock_timestamp() and generation = (select generation from farm)
     returning id`,
  ),

  /** A month after their end nobody asks who decided; the audit knows it. */
  forgetApprovals: statement<unknown>(
    'gate.forget_approvals',
    `delete from approval where expires_at < clock_timestamp() - interval '30 days'`,
  ),
};
