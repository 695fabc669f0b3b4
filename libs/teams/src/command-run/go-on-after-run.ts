import { type Command, limits, utf8Length } from '#contracts';
import type { Transaction } from '#store';
import { openDispatch } from '../dispatch/open-dispatch.js';
import type { TeamParts } from '../parts.js';
import type { CommandRunRow, Continuation, TaskRow } from '../rows.js';
import { assignmentSql } from '../sql/teams.js';
import { outputPath } from './output-path.js';
import { sayEnd } from './say-end.js';

/** The successor of whoever had the command run, with what was asked and what it came to. The caller holds the Task's lock. */
export async function goOnAfterRun(
  parts: TeamParts,
  tx: Transaction,
  task: TaskRow,
  run: CommandRunRow,
): Promise<void> {
  const assignment = await tx.first(assignmentSql.read, { id: run.assignment });
  if (!assignment || run.ended_at === null) throw new Error('a Command Run that is over without its rows');
  await openDispatch(parts, tx, task, assignment, {
    reason: 'command_result',
    causedBy: run.id,
    continuation: continuationOf(run, run.ended_at),
  });
}

function continuationOf(run: CommandRunRow, endedAt: Date): Continuation {
  return {
    kind: 'command_result',
    source_dispatch: run.source_dispatch,
    request: {
      command_id: run.name,
      command: toldAgain(run.command),
      cwd: run.cwd,
      timeout_seconds: run.timeout_seconds,
      summary: run.summary,
    },
    terminal: {
      state: run.state,
      exit_code: run.exit_code,
      failure_code: run.failure_code,
      summary: sayEnd(run),
      started_at: run.started_at?.toISOString() ?? null,
      ended_at: endedAt.toISOString(),
      output_path: outputPath(run.task, run.name),
      observed_bytes: run.observed_bytes,
      written_bytes: run.written_bytes,
      complete: run.output_complete,
      source: run.ended_by === null ? 'controller' : 'operator',
      actor: run.ended_by,
      /** The end of its output. */
      tail: run.tail,
    },
  };
}

/** A command may be as long as a book: as much of it as says which it was. */
function toldAgain(command: Command): Command & { readonly arguments_left_out?: number } {
  if (command.kind === 'shell') return command;
  const fits = (count: number) => utf8Length(command.argv.slice(0, count).join('')) <= limits.commandToldBytes;
  const over = command.argv.findIndex((_, n) => !fits(n + 1));
  // one argument alone always fits
  const argv = over < 0 ? command.argv : command.argv.slice(0, over);
  const left = command.argv.length - argv.length;
  return { ...command, argv, ...(left === 0 ? {} : { arguments_left_out: left }) };
}
