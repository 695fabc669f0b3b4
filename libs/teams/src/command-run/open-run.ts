import { type CommandRunInput, CommandRunPayload, limits } from '#contracts';
import type { Transaction } from '#store';
import { isolationOf, labelsOf } from '../dispatch/open-dispatch.js';
import { taskDirectory } from '../dispatch/picture.js';
import type { Standing } from '../handover/handover-rule.js';
import { inPlaceOf, limitsOf } from '../in-place/in-place.js';
import type { TeamParts } from '../parts.js';
import type { CommandRunRow } from '../rows.js';
import { commandRunSql } from '../sql/teams.js';
import { record } from '../task/events.js';

interface Opening {
  readonly id: string;
  readonly name: string;
  readonly purpose: CommandRunRow['purpose'];
  readonly request: CommandRunInput;
  /** Where the Assignment last worked. */
  readonly warm: string | undefined;
}

/**
 * A Command Run on the head of an Assignment's line, and its job, behind the walls that its Dispatch had. A member's waits for the
 * warm machine (D15); while the Task is paused it waits for Resume (D8).
 */
export async function openRun(
  parts: TeamParts,
  tx: Transaction,
  { task, assignment, dispatch }: Standing,
  { id, name, purpose, request, warm }: Opening,
): Promise<void> {
  const { sandbox } = dispatch.pins.provider;
  const ofMember = purpose === 'member';
  const payload = CommandRunPayload.parse({
    task_id: task.id,
    command_id: name,
    purpose,
    member_id: assignment.member,
    title: task.title,
    provider: dispatch.pins.provider.kind,
    ...(sandbox === undefined ? {} : { sandbox }),
    base: assignment.line_head,
    task_directory: taskDirectory(task.id),
    ...(ofMember ? { assignment_id: assignment.id } : {}),
    ...inPlaceOf(task),
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
    limits: limitsOf(task),
    held: ofMember && task.status === 'paused',
    ...(warm === undefined ? {} : { prefer: { worker: warm, ms: ofMember ? limits.commandWarmMs : limits.preferMs } }),
  });
  await tx.run(commandRunSql.add, {
    id,
    name,
    task: task.id,
    assignment: assignment.id,
    source_dispatch: dispatch.id,
    purpose,
    base: assignment.line_head,
    command: JSON.stringify(request.command),
    cwd: request.cwd ?? null,
    timeout_seconds: request.timeout_seconds ?? null,
    summary: request.summary,
  });
  record(parts, tx, {
    task: task.id,
    type: 'command_run_opened',
    source: ofMember ? 'node' : 'controller',
    payload: {
      command_id: name,
      purpose,
      member: assignment.member,
      summary: request.summary,
      ...(ofMember ? { dispatch: dispatch.id } : {}),
      commit: assignment.line_head,
    },
  });
}
