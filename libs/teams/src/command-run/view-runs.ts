import { CommandRunListed, CommandRunView, type commandRunGet, FarmError, type InputOf, limits } from '#contracts';
import type { Queries } from '#store';
import type { CommandRunRow, TaskRow } from '../rows.js';
import { commandRunSql, taskSql, teamSql } from '../sql/teams.js';
import type { Shortening } from '../task/shorten.js';
import { cancelAction } from './run-actions.js';
import { sayEnd } from './say-end.js';

const shown = {
  pending_start: 'queued',
  running: 'running',
  cancellation_requested: 'cancelling',
  succeeded: 'succeeded',
  failed: 'failed',
  timed_out: 'timed_out',
  cancelled: 'cancelled',
  abandoned: 'failed',
} as const satisfies Record<CommandRunRow['state'], CommandRunView['status']>;

/** The commands of a Task, those that go on first, as an overview shows them. `name` says what a member is called. */
export async function viewRuns(
  queries: Queries,
  task: TaskRow,
  name: (member: string) => string,
  short: Shortening,
): Promise<{ readonly items: readonly CommandRunListed[]; readonly total: number }> {
  const runs = await queries.all(commandRunSql.ofTask, { task: task.id, limit: limits.overviewList });
  const items = runs.map((run) => {
    const { command: _command, cwd: _cwd, tail: _tail, ...listed } = viewOf(task, run, name(run.member));
    return CommandRunListed.parse({
      ...listed,
      member: { ...listed.member, name: short.name('command_runs', listed.member.name) },
      summary: short.text('command_runs', listed.summary),
      status_message: short.text('command_runs', listed.status_message),
    });
  });
  return { items, total: runs[0]?.total ?? 0 };
}

/** @throws not_found */
export async function getRun(queries: Queries, input: InputOf<typeof commandRunGet>): Promise<CommandRunView> {
  const task = await queries.first(taskSql.read, { task: input.task_id });
  if (!task) throw new FarmError('not_found', 'There is no such Task.');
  const run = await findRun(queries, input);
  const team = task.team_revision === null ? [] : await queries.all(teamSql.members, { revision: task.team_revision });
  const self = team.find(({ member }) => member === run.member);
  return viewOf(task, run, self?.configuration.title ?? run.member);
}

/** @throws not_found */
export async function findRun(
  queries: Queries,
  { task_id, command_id }: InputOf<typeof commandRunGet>,
): Promise<CommandRunRow> {
  const run = await queries.first(commandRunSql.named, { task: task_id, name: command_id });
  if (run) return run;
  throw new FarmError('not_found', 'There is no such command in this Task.', {
    hint: '`longshore task get` shows its commands.',
  });
}

function viewOf(task: TaskRow, run: CommandRunRow, name: string): CommandRunView {
  const action = cancelAction(task, run);
  const { observed_bytes, written_bytes, output_complete: complete } = run;
  return CommandRunView.parse({
    command_id: run.name,
    purpose: run.purpose,
    member: { id: run.member, name },
    summary: run.summary,
    command: run.command,
    cwd: run.cwd,
    timeout_seconds: run.timeout_seconds,
    status: shown[run.state],
    status_message: sayEnd(run),
    exit_code: run.exit_code,
    failure_code: run.failure_code,
    output: run.epoch === null ? null : { observed_bytes, written_bytes, complete },
    tail: run.tail,
    opened_at: run.opened_at.toISOString(),
    started_at: run.started_at?.toISOString() ?? null,
    due_at: run.due_at?.toISOString() ?? null,
    ended_at: run.ended_at?.toISOString() ?? null,
    actions: action === undefined ? [] : [{ id: action, kind: 'cancel' }],
  });
}
