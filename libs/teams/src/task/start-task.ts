import {
  FarmError,
  type InputOf,
  limits,
  newTaskId,
  type OutputOf,
  type taskStart,
  WorkflowDocument,
} from '#contracts';
import type { Transaction } from '#store';
import type { Actor } from '../api.js';
import type { TeamParts } from '../parts.js';
import type { TaskSettings } from '../rows.js';
import { sourceSql, taskSql, workflowSql } from '../sql.js';
import { record } from './events.js';

/**
 * Records the Task and its cause, in one transaction with `task_started`. The source is made ready by whichever controller sweeps
 * next, and only then come base, root Dispatch and job (D19, I25).
 *
 * @throws not_found (workflow), source_unavailable (not uploaded by this principal), conflict (a team of more than one)
 */
export async function startTask(
  parts: TeamParts,
  tx: Transaction,
  starter: Actor,
  input: InputOf<typeof taskStart>,
): Promise<OutputOf<typeof taskStart>> {
  const revision = await pinWorkflow(tx, input.workflow_id);
  if (input.source.kind === 'bundle') await requireUpload(tx, starter.principal, input.source.sha256);

  const id = newTaskId();
  await tx.run(taskSql.add, {
    id,
    title: input.title ?? titleOf(input.prompt),
    workflow: input.workflow_id,
    revision_no: revision,
    prompt: input.prompt,
    started_by: starter.principal,
    source: JSON.stringify(input.source),
    settings: JSON.stringify(settingsOf(parts, input)),
  });
  record(parts, tx, {
    task: id,
    type: 'task_started',
    source: 'operator',
    principal: starter.principal,
    payload: { workflow_id: input.workflow_id, revision_no: revision, source: input.source.kind },
  });
  tx.afterCommit(() => parts.onPreparing?.(id));
  return { task_id: id, status: 'preparing' };
}

async function pinWorkflow(tx: Transaction, id: string): Promise<number> {
  const row = await tx.first(workflowSql.get, { id, revision_no: null });
  if (!row)
    throw new FarmError('not_found', 'There is no such published workflow.', {
      hint: '`longshore workflow search` lists them.',
    });
  const { lead } = WorkflowDocument.parse(row.content);
  if ((lead.children ?? []).length > 0) {
    throw new FarmError('conflict', 'This workflow has more than one member; this version runs Tasks of one member.', {
      hint: 'Publish a workflow whose lead has no children and start the Task on that one.',
    });
  }
  return row.revision_no;
}

async function requireUpload(tx: Transaction, principal: string, sha256: string): Promise<void> {
  if (await tx.first(sourceSql.name, { principal, sha256 })) return;
  throw new FarmError(
    'source_unavailable',
    'The checkout that this Task starts from was not uploaded by you, or has expired.',
    {
      hint: 'Upload it and start the Task again within an hour.',
    },
  );
}

function settingsOf(parts: TeamParts, input: InputOf<typeof taskStart>): TaskSettings {
  return {
    pool: input.pool,
    labels: input.labels,
    priority: input.priority,
    files: input.files,
    ...verifyOf(input),
    default_provider: parts.defaultProvider ?? 'scripted',
    children_limit: limits.childAssignmentsPerAssignment,
    retry_limit: limits.retriesPerAssignment,
  };
}

/** What the caller says stands; false says that nothing is verified. */
function verifyOf({
  verify,
  verify_timeout_seconds,
}: Pick<InputOf<typeof taskStart>, 'verify' | 'verify_timeout_seconds'>): Pick<TaskSettings, 'verify'> {
  if (verify === undefined || verify === false) return {};
  return { verify: { command: verify, timeout_seconds: verify_timeout_seconds } };
}

/** The first line that says something. */
function titleOf(prompt: string): string {
  const line = prompt.split('\n').find((text) => text.trim() !== '') ?? '';
  const title = line.trim();
  return title.length <= 255 ? title : `${title.slice(0, 254).trimEnd()}…`;
}
