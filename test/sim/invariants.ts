/**
 * What must hold after each step, whatever came before it: one query each, which answers what breaks it. All of them are read as
 * one statement. What rows can not show is asked of the calls themselves (`late-calls.ts`, `people.ts`, `controllers.ts`), and what
 * no row may do on its way by `transitions.ts`.
 */
export interface Invariant {
  readonly rule: string;
  readonly says: string;
  /** Selects `seen`: one row for each break. */
  readonly breaks: string;
}

const runGoesOn = `c.state in ('pending_start', 'running', 'cancellation_requested')`;
/** What an Assignment `a` waits for. */
const waits = `(exists (select from human_request h where h.assignment = a.id and h.status = 'open')
  or exists (select from command_run c where c.assignment = a.id and c.purpose = 'member' and ${runGoesOn})
  or exists (select from wave w where w.assignment = a.id and w.status = 'open'))`;
const live = `exists (select from dispatch d where d.assignment = a.id and d.closed_at is null)`;
/** Each Dispatch with the one before it in its Assignment. */
const chain = `(select d.*, j.seq, lag(d.id) over (partition by d.assignment order by j.seq) as before,
    lag(d.closed_at) over (partition by d.assignment order by j.seq) as before_closed
  from dispatch d join job j on j.id = d.id)`;
/** What a Dispatch that follows \`source\` may be caused by. */
const causes = (
  source: string,
) => `(select id from dispatch where id = ${source} union all select id from wave where source_dispatch = ${source}
  union all select id from human_request where source_dispatch = ${source} union all select id from command_run where source_dispatch = ${source})`;

const invariants: readonly Invariant[] = [
  {
    rule: 'I1',
    says: 'an Assignment has a Dispatch or a wait, never both, and none once it is over',
    breaks: `select a.member as seen from assignment a where ${live} and ${waits} or a.closed_at is not null and (${live} or ${waits})`,
  },
  {
    rule: 'I2',
    says: 'one current Dispatch and one first Dispatch for each Assignment, one open Assignment for each member',
    breaks: `select member as seen from dispatch d join assignment a on a.id = d.assignment group by a.id, member
        having count(*) filter (where d.closed_at is null) > 1 or count(*) filter (where d.caused_by is null) > 1
      union all select member from assignment where closed_at is null group by task, member having count(*) > 1`,
  },
  {
    rule: 'I3',
    says: 'each source has one successor, and each Dispatch follows from the one before it',
    breaks: `select caused_by || ' caused ' || count(*) as seen from dispatch where caused_by is not null group by caused_by having count(*) > 1
      union all select d.id || ' ' || d.closed_reason || ' is followed ' || (select count(*) from dispatch s where s.caused_by in ${causes('d.id')}) || ' times'
        from dispatch d where (select count(*) from dispatch s where s.caused_by in ${causes('d.id')}) > 1
      union all select d.reason || ' does not follow from the Dispatch before' from ${chain} d
        where d.before is not null and (d.caused_by is null or d.caused_by not in ${causes('d.before')} or d.before_closed is null)`,
  },
  {
    rule: 'H1',
    says: 'what a Dispatch handed over is there once, and nothing without a handover',
    breaks: `select d.id || ' closed ' || d.closed_reason as seen from dispatch d
        where (d.closed_reason in ('boundary', 'delegation', 'human_request_wait', 'command_run_wait', 'structural_replan'))
          <> exists (select from handover h where h.dispatch = d.id)
      union all select h.kind || ' without what it says' from handover h where not case h.kind
        when 'checkpoint' then (select count(*) = 1 from checkpoint k where k.dispatch = h.dispatch and k.outcome is not null)
        when 'delegate' then exists (select from wave w where w.source_dispatch = h.dispatch)
        when 'human_request' then exists (select from human_request q where q.source_dispatch = h.dispatch)
        when 'command_run' then exists (select from command_run c where c.source_dispatch = h.dispatch and c.purpose = 'member')
        else exists (select from team_revision r where r.created_by_dispatch = h.dispatch) end
      union all select 'a checkpoint with an outcome and no handover' from checkpoint k where k.outcome is not null
        and not exists (select from handover h where h.dispatch = k.dispatch and h.kind = 'checkpoint')`,
  },
  {
    rule: 'I7',
    says: 'a Task is completed by the word of its root, and only by it',
    breaks: `select t.status || ' ' || coalesce(a.outcome, 'open') as seen from task t join assignment a on a.id = t.root_assignment
      where case t.status when 'completed' then a.outcome is distinct from t.outcome
          or exists (select from command_run c where c.task = t.id and c.purpose = 'verify' and ${runGoesOn})
        when 'cancelled' then a.closed_at is not null
        else a.closed_at is not null and not exists (select from command_run c where c.task = t.id and c.purpose = 'verify' and ${runGoesOn}) end
      union all select 'a completed Task with an open Assignment' from task t where t.status = 'completed'
        and exists (select from assignment a where a.task = t.id and a.closed_at is null)`,
  },
  {
    rule: 'I8',
    says: 'a green stands on a green of each direct child, on the configuration and branch that it has',
    breaks: `select k.member || ' is green without ' || c.member as seen from checkpoint k join dispatch d on d.id = k.dispatch
        join team_member c on c.revision = (d.pins->>'team_revision')::uuid and c.parent = k.member
      where k.outcome = 'green' and not exists (select from checkpoint g where g.task = k.task and g.member = c.member
        and g.outcome = 'green' and g.config_id = c.config_id and g.basis_id = c.basis_id and g.recorded_at <= k.recorded_at)`,
  },
  {
    rule: 'I9',
    says: 'a place in a Wave is settled by its child’s last word; a retry settles nothing and is counted once',
    breaks: `select m.member || ' ' || m.status || ' ' || coalesce(a.outcome, 'open') as seen from wave_member m join assignment a on a.id = m.assignment
        where (m.status = 'settled') <> (a.closed_at is not null) or m.outcome is distinct from a.outcome
      union all select a.member || ' closed without its word' from assignment a where a.outcome is distinct from
        (select k.outcome from checkpoint k where k.assignment = a.id and k.outcome in ('green', 'blocked'))
      union all select a.member || ' has another count of attempts' from assignment a where a.attempt <> a.retries_used + 1 or a.retries_used
        <> (select count(*) from checkpoint k where k.assignment = a.id and k.outcome = 'retry')`,
  },
  {
    rule: 'I10',
    says: 'a Wave is there whole, and counted',
    breaks: `select a.member || ' has given ' || a.children_used as seen from assignment a
        where a.children_used <> (select count(*) from assignment c where c.parent = a.id)
      union all select 'a Wave of ' || jsonb_array_length(h.body->'children') from handover h join wave w on w.source_dispatch = h.dispatch
        where jsonb_array_length(h.body->'children') <> (select count(*) from wave_member m where m.wave = w.id)
      union all select 'a child without a Dispatch' from wave_member m
        where not exists (select from dispatch d where d.assignment = m.assignment and d.caused_by is null)`,
  },
  {
    rule: 'I11',
    says: 'a change renews the branch that it is in up to the lead, and leaves what stands beside it; ids never come again',
    breaks: `select n.member || ' came again' as seen from team_revision r join team_member n on n.revision = r.id
        where r.predecessor is not null and not exists (select from team_member p where p.revision = r.predecessor and p.member = n.member)
          and exists (select from team_revision e join team_member x on x.revision = e.id where e.task = r.task and e.sequence < r.sequence and x.member = n.member)
      union all select n.member || (case when above.member is null then ' was renewed' else ' was not renewed' end)
        from team_revision r join dispatch d on d.id = r.created_by_dispatch
        join team_member n on n.revision = r.id join team_member p on p.revision = r.predecessor and p.member = n.member
        left join lateral (with recursive up as (
            select m.member, m.parent from team_member m where m.revision = r.id and m.member = d.pins->>'member'
            union all select m.member, m.parent from team_member m join up on m.revision = r.id and m.member = up.parent
          ) select member from up where up.member = n.member) above on true
        left join lateral (with recursive down as (
            select m.member from team_member m where m.revision = r.id and m.member = d.pins->>'member'
            union all select m.member from team_member m join down on m.revision = r.id and m.parent = down.member
          ) select member from down where down.member = n.member) below on true
        where above.member is not null and n.basis_id = p.basis_id
          or above.member is null and below.member is null and (n.basis_id, n.config_id, n.parent, n.position) is distinct from (p.basis_id, p.config_id, p.parent, p.position)`,
  },
  {
    rule: 'I12',
    says: 'nobody at work is changed or removed',
    breaks: `select a.member || ' is at work and not as it was given its work' as seen from assignment a join task t on t.id = a.task and t.status in ('running', 'paused')
        left join dispatch d on d.assignment = a.id and d.closed_at is null
        left join team_member m on m.revision = t.team_revision and m.member = a.member
      where a.closed_at is null and (m.member is null
        or d.id is not null and (m.config_id::text, m.basis_id::text) is distinct from (d.pins->>'config_id', d.pins->>'basis_id'))`,
  },
  {
    rule: 'I13',
    says: 'reports of a Wave come in the order of its request',
    breaks: `select d.id::text as seen from dispatch d join wave w on w.id = d.caused_by
      where (select array_agg(x->>'child_id' order by n) from jsonb_array_elements(d.continuation->'members') with ordinality as e (x, n))
        is distinct from (select array_agg(m.member order by m.position) from wave_member m where m.wave = w.id)
      or (select array_agg(x->>'outcome' order by n) from jsonb_array_elements(d.continuation->'members') with ordinality as e (x, n))
        is distinct from (select array_agg(m.outcome order by m.position) from wave_member m where m.wave = w.id)`,
  },
  {
    rule: 'I14',
    says: 'a lane goes on with what it waited for, as that came out, also over a pause',
    breaks: `select d.reason || ' after ' || s.closed_reason as seen from dispatch d join dispatch s on s.id = d.caused_by
        where s.closed_reason in ('human_request_wait', 'command_run_wait', 'delegation')
      union all select 'told another answer' from dispatch d join human_request h on h.id = d.caused_by
        where d.reason <> 'human_result' or h.status = 'open' or d.continuation->'resolution' is distinct from h.resolution
      union all select 'told another end' from dispatch d join command_run c on c.id = d.caused_by
        where d.reason <> 'command_result' or c.ended_at is null or d.continuation->'terminal'->>'state' is distinct from c.state
      union all select 'told a Wave that is not joined' from dispatch d join wave w on w.id = d.caused_by
        where d.reason <> 'delegation_wave' or w.status <> 'settled'
      union all select 'nobody goes on with an answer' from human_request h join task t on t.id = h.task and t.status = 'running'
        where h.status <> 'open' and not exists (select from dispatch d where d.caused_by = h.id)
      union all select 'nobody goes on with a command' from command_run c join task t on t.id = c.task and t.status = 'running'
        where c.purpose = 'member' and c.ended_at is not null and not exists (select from dispatch d where d.caused_by = c.id)
      union all select 'nobody goes on with a joined Wave' from wave w where w.status = 'settled' and not exists (select from dispatch d where d.caused_by = w.id)`,
  },
  {
    rule: 'I15',
    says: 'a cancel leaves nothing open; what is still leased is told to end',
    breaks: `select x.what as seen from task t cross join lateral (
        select 'a Dispatch' from dispatch d where d.task = t.id and d.closed_at is null
        union all select 'a Wave' from wave w where w.task = t.id and w.status = 'open'
        union all select 'a place in a Wave' from wave w join wave_member m on m.wave = w.id where w.task = t.id and w.status = 'cancelled' and m.status = 'pending'
        union all select 'a question' from human_request h where h.task = t.id and h.status = 'open'
        union all select 'a waiting job' from job j where j.scope = t.id and j.state in ('queued', 'held')
        union all select 'a job that is not told' from job j where j.scope = t.id and j.state = 'leased' and j.end_kind is distinct from 'cancel'
        union all select 'a command that nobody has' from command_run c join job j on j.id = c.id where c.task = t.id and ${runGoesOn} and j.state <> 'leased'
      ) x (what) where t.status = 'cancelled'`,
  },
  {
    rule: 'I18',
    says: 'a lane is recovered twice at most between two handovers or Resumes',
    breaks: `select member || ' ' || recoveries as seen from assignment where recoveries not between 0 and 2
      union all select 'a third recovery in a row' from (
        select task, id, reason, lag(reason) over w as one, lag(reason, 2) over w as two, lag(id, 2) over w as first
        from ${chain} d window w as (partition by assignment order by seq)) c
      where c.reason = 'watchdog_recovery' and c.one = 'watchdog_recovery' and c.two = 'watchdog_recovery'
        and not exists (select from task_event f join task_event l using (task) join task_event r using (task)
          where f.task = c.task and f.type = 'dispatch_opened' and f.payload ->> 'dispatch' = c.first::text
            and l.type = 'dispatch_opened' and l.payload ->> 'dispatch' = c.id::text
            and r.type = 'task_resumed' and r.seq between f.seq and l.seq)`,
  },
  {
    rule: 'I19',
    says: 'the record of a Task has numbers without gaps',
    breaks: `select t.id || ' ' || t.event_seq as seen from task t
      where (select row(count(*), coalesce(max(seq), 0)) from task_event e where e.task = t.id) is distinct from row(t.event_seq::bigint, t.event_seq)`,
  },
  {
    rule: 'I20',
    says: 'nobody asks or runs what its workflow does not grant',
    breaks: `select m.member || ' asked for ' || h.kind as seen from human_request h join dispatch d on d.id = h.source_dispatch
        join team_member m on m.revision = (d.pins->>'team_revision')::uuid and m.member = d.pins->>'member'
        where not coalesce(m.configuration->'capabilities'->'human_request' ? h.kind, false)
      union all select m.member || ' ran a command' from command_run c join dispatch d on d.id = c.source_dispatch
        join team_member m on m.revision = (d.pins->>'team_revision')::uuid and m.member = d.pins->>'member'
        where c.purpose = 'member' and m.configuration->'capabilities'->>'command_run' is distinct from 'allow'`,
  },
  {
    rule: 'I21',
    says: 'a command that has started is started by nobody else; lost, it is abandoned',
    breaks: `select c.name || ' started at ' || c.epoch || ', now ' || j.epoch as seen from command_run c join job j on j.id = c.id
        where c.started_at is not null and (c.epoch <> j.epoch or j.state in ('queued', 'held'))
      union all select c.name || ' was lost and is ' || c.state from command_run c join lease l on l.job = c.id and l.epoch = c.epoch
        where l.ended_how = 'lost' and c.state not in ('abandoned', 'timed_out')
      union all select e.payload->>'command_id' || ' is told to have started twice' from task_event e where e.type = 'command_run_started'
        group by e.task, e.payload->>'command_id' having count(*) > 1`,
  },
  {
    rule: 'I23',
    says: 'a message stands in the record when the session has it, and only then',
    breaks: `select t.id as seen from task t where (select count(*) from steer s where s.task = t.id and s.outcome = 'delivered')
      <> (select count(*) from task_event e where e.task = t.id and e.type = 'member_steered')`,
  },
  {
    rule: 'I25',
    says: 'a Task that has begun has one root Dispatch that nothing caused',
    breaks: `select t.id || ' ' || t.status as seen from task t
      where (select count(*) from dispatch d where d.task = t.id and d.reason = 'root') <> (t.base is not null)::int
        or t.status = 'running' and t.base is null
        or (select count(*) from assignment a where a.task = t.id and a.parent is null) <> (t.base is not null)::int`,
  },
  {
    rule: 'I26',
    says: 'each lane of a running Task goes on, waits for what can still come, or has called somebody',
    breaks: `select a.member || ' after ' || coalesce(tail.closed_reason, '?') as seen from assignment a join task t on t.id = a.task and t.status = 'running'
        left join lateral (select d.id, d.closed_reason from dispatch d join job j on j.id = d.id where d.assignment = a.id order by j.seq desc limit 1) tail on true
      where a.closed_at is null and not ${live} and not ${waits} and not (tail.closed_reason = 'control_failed'
        and exists (select from attention n where n.job = tail.id and n.kind = 'lane_exhausted' and n.closed_at is null))
      union all select m.member || ' is waited for and over' from wave w join wave_member m on m.wave = w.id join assignment a on a.id = m.assignment
        join task t on t.id = w.task and t.status in ('running', 'paused') where w.status = 'open' and m.status = 'pending' and a.closed_at is not null`,
  },
  {
    rule: 'D8',
    says: 'jobs of a paused Task wait for Resume, those of a running one wait for nobody',
    breaks: `select j.kind || ' ' || j.state || ' of a ' || t.status || ' Task' as seen from job j join task t on t.id = j.scope
      where t.status = 'paused' and j.state = 'queued' and not exists (select from command_run c where c.id = j.id and c.purpose = 'verify')
        or t.status = 'running' and j.state = 'held'`,
  },
  {
    rule: 'lanes',
    says: 'a Task has so many lanes at once, and no more; who waits for one has none',
    breaks: `select j.scope || ' has ' || count(*) as seen from job j where j.kind = 'dispatch' and j.state in ('queued', 'leased') and not j.awaits_lane
        group by j.scope having count(*) > (select lanes from sim_lanes)
      union all select j.state || ' and awaiting a lane' from job j where j.awaits_lane and j.state <> 'queued'`,
  },
  {
    rule: 'D10',
    says: 'a Dispatch or a command is open as long as its job, and no longer',
    breaks: `select 'open Dispatch, job ' || j.state as seen from dispatch d join job j on j.id = d.id where d.closed_at is null and j.state in ('done', 'dead', 'cancelled')
      union all select 'closed Dispatch, job ' || j.state from dispatch d join job j on j.id = d.id
        where d.closed_at is not null and j.state in ('queued', 'held', 'leased') and not (j.state = 'leased' and j.end_kind = 'cancel')
      union all select 'command ' || c.state || ', job ' || j.state from command_run c join job j on j.id = c.id
        where (${runGoesOn}) <> (j.state in ('queued', 'held', 'leased'))`,
  },
  {
    rule: 'D20',
    says: 'who works, works on the head of its line',
    breaks: `select a.member || ' ' || d.reason as seen from dispatch d join assignment a on a.id = d.assignment where d.closed_at is null and d.base <> a.line_head
      union all select a.member || ' has a command run on another commit' from command_run c join assignment a on a.id = c.assignment where ${runGoesOn} and c.base <> a.line_head`,
  },
  {
    rule: 'A12.1',
    says: 'a job has one live lease while it is leased, else none',
    breaks: `select j.kind || ' ' || j.state || ' with ' || count(l.job) as seen from job j left join lease l on l.job = j.id and l.ended_at is null
        group by j.id, j.kind, j.state having count(l.job) <> (j.state = 'leased')::int
      union all select 'another lease than its job says' from job j join lease l on l.job = j.id and l.epoch = j.epoch
        where j.state = 'leased' and (l.lease_id, l.worker, l.boot) is distinct from (j.lease_id, j.holder, j.boot)`,
  },
  {
    rule: 'A12.2',
    says: 'leases of a job are numbered from one, without a gap',
    breaks: `select j.id || ' ' || j.epoch as seen from job j where j.epoch <> (select count(*) from lease l where l.job = j.id)
      or exists (select from lease l where l.job = j.id and l.epoch not between 1 and j.epoch)`,
  },
  {
    rule: 'H26',
    says: 'no machine holds more than its slots, but for what it had frozen',
    breaks: `select m.worker || ' holds ' || count(*) || ' of ' || m.slots as seen from sim_machine m join job j on j.holder = m.worker and j.state = 'leased'
      where not exists (select from lease l where l.job = j.id and l.epoch = j.epoch - 1 and l.worker = j.holder and l.boot = j.boot and l.ended_how = 'lost')
      group by m.worker, m.slots having count(*) > m.slots`,
  },
];

/** All of them, and what was seen on the way, as one statement: \`rule, says, seen\`. */
export const allInvariants = `${invariants
  .map(
    ({ rule, says, breaks }) =>
      `(select '${rule}' as rule, '${says.replaceAll("'", "''")}' as says, left(b.seen::text, 600) as seen from (${breaks}) b limit 3)`,
  )
  .join('\nunion all\n')}
union all (select rule, says, seen from sim_violation order by n limit 3)`;

/** After a sweep of lanes: until then a lane may have ended that was the last one to go on (D4). */
export const afterSweep: Invariant = {
  rule: 'D4',
  says: 'a Task of which no lane can go on pauses',
  breaks: `select t.id as seen from task t where t.status = 'running' and exists (select from assignment a where a.task = t.id and a.closed_at is null)
      and not exists (select from assignment a where a.task = t.id and a.closed_at is null and (${live}
        or exists (select from human_request h where h.assignment = a.id and h.status = 'open')
        or exists (select from command_run c where c.assignment = a.id and ${runGoesOn})
        or exists (select from wave w where w.assignment = a.id and w.status = 'open' and not exists (select from wave_member m where m.wave = w.id and m.status = 'pending'))))`,
};

/** When nothing is at work any more. */
export const atRest: readonly Invariant[] = [
  {
    rule: 'I26',
    says: 'every Task has come to its end',
    breaks: `select t.id || ' is ' || t.status || ' ' || coalesce(t.pause_reason, '') as seen from task t where t.status not in ('completed', 'cancelled')`,
  },
  {
    rule: 'A12.13',
    says: 'no job is left, and no slot is held',
    breaks: `select j.kind || ' ' || j.state as seen from job j where j.state in ('queued', 'held', 'leased')
      union all select 'a lease without an end' from lease l where l.ended_at is null`,
  },
  {
    rule: 'O11',
    says: 'nobody is called to a Task that is over, but to look at what became of it',
    breaks: `select n.kind || ' of a Task that is ' || t.status as seen from attention n join task t on t.id = n.task
      where n.closed_at is null and t.status in ('completed', 'cancelled') and n.kind not in ('blocked_result', 'verify_failed', 'push_approval')`,
  },
];
