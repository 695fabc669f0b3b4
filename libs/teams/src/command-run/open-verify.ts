import { CommandRunPayload, limits, newCommandId, newId } from '#contracts';
import type { Transaction } from '#store';
import { isolationOf, labelsOf } from '../dispatch/open-dispatch.js';
import { taskDirectory } from '../dispatch/picture.js';
import type { TeamParts } from '../parts.js';
import type { AssignmentRow, DispatchRow, TaskRow } from '../rows.js';
import { commandRunSql, dispatchSql } from '../sql.js';
import { record } from '../task/events.js';

interface Green {
  readonly task: TaskRow;
  /** The root's; its line is the final tree. */
  readonly assignment: AssignmentRow;
  readonly dispatch: DispatchRow;
}

/**
 * The farm's own Command Run on the final tree of a Task whose root is green, in the transaction that accepts the green. The Task
 * completes with the run's end, whatever that is; also while it is paused, as a green completes it then (D8).
 */
export async function openVerify(
  parts: TeamParts,
  tx: Transaction,
  { task, assignment, dispatch }: Green,
): Promise<void> {
  const { verify } = task.settings;
  if (verify === undefined) throw new Error('nothing is to be verified');
  const { sandbox } = dispatch.pins.provider;
  const [id, name] = [newId(), newCommandId()];
  const last = await tx.first(dispatchSql.lastWorker, { assignment: assignment.id });
  const payload = CommandRunPayload.parse({
    task_id: task.id,
    command_id: name,
    purpose: 'verify',
    member_id: assignment.member,
    title: task.title,
    provider: dispatch.pins.provider.kind,
    ...(sandbox === undefined ? {} : { sandbox }),
    base: assignment.line_head,
    task_directory: taskDirectory(task.id),
    isolation: isolationOf(task),
  });
  await parts.queue().submit(tx, {
    id,
    kind: 'command_run',
    scope: task.id,
    payload,
    pool: task.settings.pool,
    labels: labelsOf(task, dispatch.pins),
    priority: task.settings.priority,
    limits: [`workflow:${task.workflow}`],
    ...(last === undefined ? {} : { prefer: { worker: last.worker, ms: limits.preferMs } }),
  });
  await tx.run(commandRunSql.add, {
    id,
    name,
    task: task.id,
    assignment: assignment.id,
    source_dispatch: dispatch.id,
    purpose: 'verify',
    base: assignment.line_head,
    command: JSON.stringify({ kind: 'shell', command: verify.command }),
    cwd: null,
    timeout_seconds: verify.timeout_seconds,
    summary: 'Verify the final tree',
  });
  record(parts, tx, {
    task: task.id,
    type: 'command_run_opened',
    source: 'controller',
    payload: { command_id: name, purpose: 'verify', command: verify.command, commit: assignment.line_head },
  });
}
