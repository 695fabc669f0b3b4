/**
 * What no row may ever do, however short: watched in the database itself by triggers, so that nothing is missed between two looks.
 * Each says under which rule, of which table, and when a change breaks it (`old`, `new`).
 */
interface Transition {
  readonly rule: string;
  readonly table: string;
  readonly breaks: string;
  readonly says: string;
}

const changed = (...columns: readonly string[]) =>
  columns.map((column) => `old.${column} is distinct from new.${column}`).join(' or ');

const transitions: readonly Transition[] = [
  {
    rule: 'A12.8',
    table: 'job',
    breaks: `old.state in ('done', 'cancelled') and ${changed('state')} or old.state = 'dead' and new.state not in ('dead', 'queued')`,
    says: 'a job left its end',
  },
  {
    rule: 'A12.2',
    table: 'job',
    breaks: `new.epoch < old.epoch or new.epoch > old.epoch + 1 or new.epoch > old.epoch and not (old.state = 'queued' and new.state = 'leased')`,
    says: 'an epoch fell, jumped, or rose without a claim',
  },
  {
    rule: 'A12.1',
    table: 'job',
    breaks: `old.state = 'leased' and new.state = 'leased' and (${changed('epoch', 'lease_id', 'holder', 'boot')})`,
    says: 'a leased job changed hands',
  },
  {
    rule: 'D9',
    table: 'job',
    breaks: `old.end_kind = 'cancel' and new.state <> 'cancelled' and (${changed('end_kind')} or new.state <> 'leased')
      and not (old.kind = 'command_run' and new.state = 'done')`,
    says: 'a cancel was taken back',
  },
  {
    rule: 'I6',
    table: 'job',
    breaks: changed('id', 'kind', 'scope', 'payload'),
    says: 'what a machine is given changed between two epochs',
  },
  {
    rule: 'A12.8',
    table: 'lease',
    breaks: `old.ended_at is not null and (${changed('ended_at', 'ended_how', 'ended_hash', 'lease_id', 'worker', 'boot')})`,
    says: 'a lease ended twice',
  },
  {
    rule: 'I6',
    table: 'dispatch',
    breaks: changed('request', 'pins', 'base', 'continuation', 'caused_by', 'assignment', 'attempt', 'reason'),
    says: 'a Dispatch is not what it was opened as',
  },
  {
    rule: 'I3',
    table: 'dispatch',
    breaks: `old.closed_at is not null and (${changed('closed_at', 'closed_reason', 'commit')})`,
    says: 'a Dispatch closed twice',
  },
  {
    rule: 'I11',
    table: 'assignment',
    breaks: changed('task', 'member', 'parent', 'prompt', 'files', 'line_base', 'children_limit', 'retry_limit'),
    says: 'a mission changed after it was given',
  },
  {
    rule: 'I9',
    table: 'assignment',
    breaks: `old.closed_at is not null and (${changed('closed_at', 'outcome', 'attempt')})`,
    says: 'an Assignment ended twice',
  },
  {
    rule: 'I10',
    table: 'assignment',
    breaks: `new.children_used < old.children_used or new.children_used > new.children_limit
      or new.retries_used < old.retries_used or new.retries_used > new.retry_limit`,
    says: 'a budget grew, or was passed',
  },
  {
    rule: 'I7',
    table: 'task',
    breaks: `old.status in ('completed', 'cancelled') and (${changed('status', 'outcome', 'ended_at')})`,
    says: 'a Task left its end',
  },
  {
    rule: 'I16',
    table: 'task',
    breaks: `new.control_revision < old.control_revision or ${changed('status')} and 'paused' in (old.status, new.status)
      and new.status <> 'completed' and new.control_revision = old.control_revision`,
    says: 'a control left no trace in the revision that actions stand on',
  },
  {
    rule: 'I25',
    table: 'task',
    breaks: `old.base is not null and (${changed('base', 'root_assignment', 'workflow', 'revision_no')})`,
    says: 'a Task began twice',
  },
  {
    rule: 'I19',
    table: 'task',
    breaks: `new.event_seq not in (old.event_seq, old.event_seq + 1)`,
    says: 'the record has a gap',
  },
  { rule: 'I11', table: 'team_revision', breaks: 'true', says: 'an older revision was touched' },
  { rule: 'I11', table: 'team_member', breaks: 'true', says: 'a member of an older revision was touched' },
  { rule: 'H1', table: 'handover', breaks: 'true', says: 'a handover was rewritten' },
  { rule: 'H1', table: 'checkpoint', breaks: 'true', says: 'a checkpoint was rewritten' },
  {
    rule: 'I3',
    table: 'wave',
    breaks: `old.status <> 'open' and (${changed('status')})`,
    says: 'a Wave ended twice',
  },
  {
    rule: 'I9',
    table: 'wave_member',
    breaks: `old.status <> 'pending' and (${changed('status', 'outcome')})`,
    says: 'a place in a Wave was settled twice',
  },
  {
    rule: 'I14',
    table: 'human_request',
    breaks: `old.status <> 'open' and (${changed('status', 'resolution')})`,
    says: 'a question was answered twice',
  },
  {
    rule: 'I21',
    table: 'command_run',
    breaks: `old.ended_at is not null and (${changed('state', 'ended_at', 'exit_code')}) or old.started_at is not null and (${changed('started_at', 'epoch')})`,
    says: 'a command started or ended twice',
  },
  {
    rule: 'I23',
    table: 'steer',
    breaks: `old.outcome is not null and old.outcome <> 'queued' and (${changed('outcome')})`,
    says: 'what became of a message changed',
  },
];

/** Facts that stay. */
const kept = [
  ...['job', 'lease', 'task', 'team_revision', 'team_member', 'assignment', 'dispatch', 'handover', 'checkpoint'],
  ...['wave', 'wave_member', 'human_request', 'command_run', 'task_event', 'steer'],
];

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;

/** Statements for the owner of the tables: the watch, and where it writes what it saw. */
export function watchOf(appRole: string): string {
  const watches = transitions.map(
    ({ rule, table, breaks, says }, n) =>
      `create trigger sim_${n} before update on ${table} for each row when (${breaks})
       execute function sim_saw(${quoted(rule)}, ${quoted(says)});`,
  );
  const deletes = kept.map(
    (table) =>
      `create trigger sim_kept before delete on ${table} for each row execute function sim_saw('P1', ${quoted(`a row of ${table} was deleted`)});`,
  );
  return `
    create table sim_violation (n integer generated always as identity, rule text not null, says text not null, seen text not null);
    create table sim_machine (worker text primary key, slots integer not null);
    create table sim_lanes (lanes integer not null);
    grant select, insert on sim_lanes to ${appRole};
    grant select, insert on sim_violation to ${appRole};
    grant select, insert, update on sim_machine to ${appRole};
    create function sim_saw() returns trigger language plpgsql as $$begin
      insert into sim_violation (rule, says, seen) values (tg_argv[0], tg_argv[1], left(old::text, 300) || ' → ' || coalesce(left(new::text, 300), 'nothing'));
      return coalesce(new, old);
    end$$;
    ${watches.join('\n')}
    ${deletes.join('\n')}`;
}
