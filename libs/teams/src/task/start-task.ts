import {
  FarmError,
  type InputOf,
  limits,
  newTaskId,
  type OutputOf,
  type Policy,
  type Preview,
  type taskStart,
  WorkflowDocument,
} from '#contracts';
import type { Transaction } from '#store';
import type { Machine } from '../account/choose-account.js';
import { missingProviders } from '../account/missing-providers.js';
import type { Actor } from '../api.js';
import type { TeamParts } from '../parts.js';
import { readPolicy, refuseBreaches } from '../policy/keep-policy.js';
import { breachesOfTree, breachOfBudget, budgetUnder } from '../policy/policy-rules.js';
import type { InPlaceSource, TaskSettings } from '../rows.js';
import { unknownRepository } from '../source/check-repository.js';
import { type NamedSource, nameSource } from '../source/name-source.js';
import { repositorySql, sourceSql, taskSql } from '../sql/teams.js';
import { workflowSql } from '../sql/workflow.js';
import { unusedId } from '../unused-id.js';
import { record } from './events.js';

/**
 * Records the Task and its cause, in one transaction with `task_started`. The source is made ready by whichever controller sweeps
 * next, and only then come base, root Dispatch and job (D19, I25).
 *
 * @throws not_found (workflow, repository), source_unavailable (not uploaded by this principal), source_refused (a URL that no Task
 *   may start from), conflict (several repositories of one URL)
 */
export async function startTask(
  parts: TeamParts,
  tx: Transaction,
  starter: Actor,
  input: InputOf<typeof taskStart>,
  warned: readonly string[] = [],
): Promise<OutputOf<typeof taskStart>> {
  const { revision_no: revision, content } = await pinWorkflow(tx, input.workflow_id);
  const named = await sourceOf(tx, input);
  const inPlace = folderOf(input);
  if (input.source.kind === 'bundle') await requireUpload(tx, starter.principal, input.source.sha256);

  const machines = (await parts.machines?.(tx)) ?? [];
  const policy = await readPolicy(tx);
  const settings = settingsOf(
    parts,
    { ...input, labels: labelsOf(input), budget: budgetUnder(policy, input.budget) },
    machines,
    named?.row?.settings.verify,
  );
  requireAllowed(policy, input, content, settings.default_provider);
  const row = {
    title: input.title ?? titleOf(input.prompt),
    workflow: input.workflow_id,
    revision_no: revision,
    prompt: input.prompt,
    started_by: starter.principal,
    source: JSON.stringify(named?.source ?? inPlace ?? input.source),
    settings: JSON.stringify(settings),
  };
  const draw = parts.drawTaskId ?? newTaskId;
  const id = await unusedId(draw, async (free) => (await tx.run(taskSql.add, { ...row, id: free })) === 1);
  record(parts, tx, {
    task: id,
    type: 'task_started',
    source: 'operator',
    principal: starter.principal,
    payload: {
      workflow_id: input.workflow_id,
      revision_no: revision,
      source: (named?.source ?? inPlace ?? input.source).kind,
      ...(named && originOf(named)),
      ...(inPlace && { host: inPlace.host, path: inPlace.path }),
    },
  });
  tx.afterCommit(() => parts.onPreparing?.(id));
  const { default_provider: provider, default_account: account, pool, labels } = settings;
  const warnings = [
    ...warned,
    ...missingPool(machines, pool),
    ...missingHost(machines, inPlace),
    ...missingProviders(content, machines, { provider, account, pool, labels }),
  ];
  return { task_id: id, status: 'preparing', ...(warnings.length === 0 ? {} : { warnings }) };
}

/** Which revision would work on what: the prompt is its caller's own. @throws not_found */
export async function previewStart(
  tx: Transaction,
  { workflow_id, repository, workspace, source, pool, labels }: InputOf<typeof taskStart>,
): Promise<Preview> {
  const { revision_no } = await pinWorkflow(tx, workflow_id);
  const named =
    repository?.name === undefined ? undefined : await tx.first(repositorySql.find, { name: repository.name });
  if (repository?.name !== undefined && !named) throw unknownRepository();
  const folder = workspace && `${workspace.host}:${workspace.path}`;
  const from = named?.name ?? repository?.url ?? folder ?? source.kind;
  return {
    summary: `Starts a Task with the workflow ${workflow_id}`,
    changes: [
      {
        id: 'task',
        before: null,
        after: { workflow_id, revision_no, source: from, ref: repository?.ref ?? null, pool, labels },
      },
    ],
  };
}

/** @throws policy_refused, naming each rule that is broken */
function requireAllowed(policy: Policy, { budget }: InputOf<typeof taskStart>, content: unknown, kind: string): void {
  const { lead } = WorkflowDocument.parse(content);
  const over = breachOfBudget(policy, budget);
  refuseBreaches([...(over ? [over] : []), ...breachesOfTree(policy, lead, kind)]);
}

/** As the attention item `no_machine` says it later. */
function missingPool(machines: readonly Machine[], pool: string): readonly string[] {
  if (machines.some((machine) => machine.pool === pool)) return [];
  const others = [...new Set(machines.map((machine) => machine.pool))].sort();
  const there =
    others.length === 0 ? 'No machine is here at all' : `Machines that are here are in: ${others.join(', ')}`;
  return [`No machine that is here is in the pool ${pool}: the work waits for one. ${there}.`];
}

/** A folder that is worked in as it is has no other source, and is laid out by nobody. @throws invalid_input */
function folderOf({ workspace, source, repository, isolation }: InputOf<typeof taskStart>): InPlaceSource | undefined {
  if (workspace === undefined) return undefined;
  if (source.kind !== 'empty' || repository !== undefined)
    throw new FarmError('invalid_input', 'A Task works in a folder or starts from a source, not both.', {
      fields: [{ path: '/workspace', rule: 'without_source' }],
    });
  if (isolation !== undefined)
    throw new FarmError('invalid_input', 'A folder that is worked in is taken as it is: nothing isolates it.', {
      fields: [{ path: '/isolation', rule: 'without_workspace' }],
    });
  return { kind: 'in_place', ...workspace };
}

/** Of a Task in place: its machine, and no other. */
function labelsOf({ workspace, labels }: InputOf<typeof taskStart>): string[] {
  return workspace === undefined ? labels : [...labels, hostLabel(workspace)];
}

const hostLabel = ({ host }: { readonly host: string }): string => `host:${host}`;

/** Nothing where one that is here has the name. */
function missingHost(machines: readonly Machine[], inPlace: InPlaceSource | undefined): readonly string[] {
  if (inPlace === undefined) return [];
  const label = hostLabel(inPlace);
  if (machines.some(({ labels }) => labels.includes(label))) return [];
  return [
    `No machine that is here has the label ${label}: the work waits for one. A machine gets it with its ticket (\`longshore worker invite --label ${label}\`).`,
  ];
}

async function sourceOf(tx: Transaction, input: InputOf<typeof taskStart>): Promise<NamedSource | undefined> {
  if (input.repository === undefined) return undefined;
  if (input.source.kind === 'empty') return nameSource(tx, input.repository);
  throw new FarmError('invalid_input', 'A Task starts from a checkout or from a repository, not from both.');
}

function originOf({ source: { name, url, ref } }: NamedSource) {
  return { ...(name !== null && { repository: name }), url, ...(ref !== null && { ref }) };
}

async function pinWorkflow(tx: Transaction, id: string): Promise<{ revision_no: number; content: unknown }> {
  const row = await tx.first(workflowSql.get, { id, revision_no: null });
  if (!row)
    throw new FarmError('not_found', 'There is no such published workflow.', {
      hint: '`longshore workflow search` lists them.',
    });
  return row;
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

function settingsOf(
  parts: TeamParts,
  input: InputOf<typeof taskStart>,
  machines: readonly Machine[],
  ofRepository: string | undefined,
): TaskSettings {
  return {
    pool: input.pool,
    labels: input.labels,
    priority: input.priority,
    files: input.files,
    ...verifyOf(input, ofRepository),
    default_provider: input.provider ?? parts.defaultProvider ?? agentOf(machines, input) ?? 'scripted',
    ...(input.account === undefined ? {} : { default_account: input.account }),
    ...(input.isolation === undefined ? {} : { isolation: input.isolation }),
    ...(input.budget === undefined ? {} : { budget: input.budget }),
    children_limit: limits.childAssignmentsPerAssignment,
    retry_limit: limits.retriesPerAssignment,
  };
}

/** The first agent that an owner of these machines lets anybody use. */
function agentOf(machines: readonly Machine[], { pool, labels }: InputOf<typeof taskStart>): string | undefined {
  const fitting = machines.filter((each) => each.pool === pool && labels.every((label) => each.labels.includes(label)));
  return fitting.flatMap(({ offers }) => offers).find(({ use }) => use === 'any')?.provider;
}

/** What the caller says stands before what the repository says; false says that nothing is verified. */
function verifyOf(
  { verify, verify_timeout_seconds }: Pick<InputOf<typeof taskStart>, 'verify' | 'verify_timeout_seconds'>,
  ofRepository: string | undefined,
): Pick<TaskSettings, 'verify'> {
  const command = verify ?? ofRepository ?? false;
  return command === false ? {} : { verify: { command, timeout_seconds: verify_timeout_seconds } };
}

/** The first line that says something. */
function titleOf(prompt: string): string {
  const line = prompt.split('\n').find((text) => text.trim() !== '') ?? '';
  const title = line.trim();
  return title.length <= 255 ? title : `${title.slice(0, 254).trimEnd()}…`;
}
