import { newId, WorkflowDocument, type WorkflowMember } from '#contracts';
import type { Transaction } from '#store';
import { openDispatch } from '../dispatch/open-dispatch.js';
import type { TeamParts } from '../parts.js';
import type { TaskRow } from '../rows.js';
import { assignmentSql, taskSql, teamSql } from '../sql/teams.js';
import { workflowSql } from '../sql/workflow.js';
import { record } from './events.js';
import { lockTask } from './lock-task.js';

/** The first team revision from the pinned workflow, the root Assignment, its first Dispatch and its job, with the base (I25). */
export async function openTeam(
  parts: TeamParts,
  tx: Transaction,
  task: TaskRow,
  base: string,
  source?: Readonly<Record<string, unknown>>,
): Promise<void> {
  const workflow = await tx.first(workflowSql.get, { id: task.workflow, revision_no: task.revision_no });
  if (!workflow) throw new Error('the pinned revision is gone');
  const { lead } = WorkflowDocument.parse(workflow.content);
  const revision = newId();
  await tx.run(teamSql.addRevision, { id: revision, task: task.id, sequence: 1 });
  addMember(tx, revision, lead, { parent: null, position: 0, depth: 1 });
  const assignment = await tx.first(assignmentSql.add, {
    id: newId(),
    task: task.id,
    member: lead.id,
    prompt: task.prompt,
    files: JSON.stringify(task.settings.files),
    children_limit: task.settings.children_limit,
    retry_limit: task.settings.retry_limit,
    base,
  });
  if (!assignment) throw new Error('the root Assignment was not made');
  const ready = await tx.run(taskSql.ready, {
    task: task.id,
    base,
    team_revision: revision,
    root_assignment: assignment.id,
  });
  if (ready !== 1) throw new Error('the Task was not preparing under its lock');
  record(parts, tx, {
    task: task.id,
    type: 'task_prepared',
    source: 'controller',
    payload: { base, team_revision: revision, ...(source && { source }) },
  });
  await openDispatch(parts, tx, await lockTask(tx, task.id), assignment, {
    reason: 'root',
    causedBy: null,
    continuation: null,
  });
}

interface Place {
  readonly parent: string | null;
  readonly position: number;
  readonly depth: number;
}

function addMember(tx: Transaction, revision: string, member: WorkflowMember, place: Place): void {
  const { children = [], ...configuration } = member;
  tx.later(teamSql.addMember, {
    revision,
    member: member.id,
    ...place,
    config_id: newId(),
    basis_id: newId(),
    configuration: JSON.stringify(configuration),
    origin: 'authored',
  });
  for (const [position, child] of children.entries()) {
    addMember(tx, revision, child, { parent: member.id, position, depth: place.depth + 1 });
  }
}
