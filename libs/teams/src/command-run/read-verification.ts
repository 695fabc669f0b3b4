import type { TaskResult } from '#contracts';
import type { Queries } from '#store';
import type { CommandRunRow, TaskRow } from '../rows.js';
import { commandRunSql } from '../sql/teams.js';

type Read = Pick<TaskResult, 'verified' | 'verification'>;

/** Beside green, a fact of its own: what the farm's run of the verify command came to. */
export async function readVerification(queries: Queries, task: TaskRow): Promise<Read> {
  const { verify } = task.settings;
  if (verify === undefined) return { verified: 'not_asked', verification: null };
  const run = await queries.first(commandRunSql.verification, { task: task.id });
  return run ? ran(run, verify.command) : { verified: false, verification: notRun(verify.command) };
}

function ran(run: CommandRunRow, command: string): Read {
  const { observed_bytes, written_bytes, output_complete: complete } = run;
  return {
    verified: run.state === 'succeeded',
    verification: {
      command,
      state: run.state,
      exit_code: run.exit_code,
      detail: run.detail,
      tail: run.tail,
      // Never started: nothing was said.
      command_id: run.epoch === null ? null : run.name,
      output: run.epoch === null ? null : { observed_bytes, written_bytes, complete },
      started_at: run.started_at?.toISOString() ?? null,
      ended_at: run.ended_at?.toISOString() ?? null,
    },
  };
}

function notRun(command: string): NonNullable<Read['verification']> {
  return {
    command,
    state: 'not_run',
    exit_code: null,
    detail: 'Only a green Task is verified.',
    tail: '',
    command_id: null,
    output: null,
    started_at: null,
    ended_at: null,
  };
}
