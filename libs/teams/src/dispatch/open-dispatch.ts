import { z } from 'zod';
import { type DispatchPayload, HumanRequestKind, limits, newId, utf8Length } from '#contracts';
import { sentTogether, type Transaction } from '#store';
import { chooseAccount } from '../account/choose-account.js';
import { inPlaceOf, isInPlace, limitsOf } from '../in-place/in-place.js';
import type { TeamParts } from '../parts.js';
import { readPolicy } from '../policy/keep-policy.js';
import { type Breach, breachesOf, grantsUnder, sandboxUnder } from '../policy/policy-rules.js';
import type { AssignmentRow, Continuation, Grants, OpenedReason, Pins, TaskRow, TeamMemberRow } from '../rows.js';
import { teamWorkSql } from '../sql/team-work.js';
import { dispatchSql } from '../sql/teams.js';
import { record } from '../task/events.js';
import { openAttention } from '../task/open-attention.js';
import { authoredGrants } from './exposure.js';
import { drawPicture, readScene, taskDirectory } from './picture.js';
import { renderRequest } from './render-request.js';

interface Opening {
  readonly reason: OpenedReason;
  /** The Dispatch that it succeeds; unique per Assignment, so that no cause has two successors (I3). */
  readonly causedBy: string | null;
  readonly continuation: Continuation | null;
  /** Not before so many milliseconds (a rate limit). */
  readonly afterMs?: number;
}

/**
 * Opens the next Dispatch of an Assignment and its job, from the head of its line and the team as it is now. The caller holds the
 * Task's lock; while the Task is paused the job waits (D8). Answers its id.
 */
export async function openDispatch(
  parts: TeamParts,
  tx: Transaction,
  task: TaskRow,
  assignment: AssignmentRow,
  opening: Opening,
): Promise<string> {
  const id = newId();
  if (task.team_revision === null) throw new Error('the Task has no team yet');
  const { member } = assignment;
  const [scene, policy, branches, notes, last] = await sentTogether([
    readScene(tx, task, assignment, { team_revision: task.team_revision, member }),
    readPolicy(tx),
    tx.all(teamWorkSql.unmerged, { assignment: assignment.id, limit: limits.unmergedBranches }),
    tx.all(teamWorkSql.notes, { task: task.id }),
    opening.causedBy === null ? undefined : tx.first(dispatchSql.lastWorker, { assignment: assignment.id }),
  ]);
  const { granted, ...asked } = pinMember(task, scene.team, member);
  const pins: Pins = {
    ...asked,
    grants: grantsUnder(policy, granted),
    provider: { ...asked.provider, sandbox: sandboxUnder(policy, asked.provider.sandbox) },
  };
  const [breach] = breachesOf(policy, asked.provider);
  const picture = drawPicture(scene, {
    task,
    assignment,
    dispatch: { id, attempt: assignment.attempt },
    pins,
    continuation: opening.continuation,
  });
  const request = renderRequest(picture);
  if (utf8Length(request.instructions) + utf8Length(request.input) > limits.requestBytes)
    throw new Error('a request is over its limit');

  const account = await accountOf(parts, tx, task, pins);
  await parts.queue().submit(tx, {
    id,
    kind: 'dispatch',
    scope: task.id,
    payload: payloadOf(task, assignment, pins, {
      account,
      last: last?.worker,
      tools: picture.ceiling,
      kinds: picture.current_member.effective_capabilities.human_request,
      // in place both are in the folder already
      branches: isInPlace(task) ? [] : branches.map(({ branch, commit }) => ({ branch, commit })),
      notes: notes.length > 0 && !isInPlace(task),
      command: opening.continuation?.kind === 'command_result' ? opening.continuation.request.command_id : undefined,
    }),
    pool: task.settings.pool,
    labels: labelsOf(task, pins),
    priority: task.settings.priority,
    limits: limitsOf(task),
    ...(account === undefined ? {} : { account }),
    held: task.status === 'paused' || breach !== undefined,
    ...(last === undefined ? {} : { prefer: { worker: last.worker, ms: limits.preferMs } }),
    ...(opening.afterMs === undefined ? {} : { delay_ms: opening.afterMs }),
  });
  tx.later(dispatchSql.add, {
    id,
    task: task.id,
    assignment: assignment.id,
    attempt: assignment.attempt,
    caused_by: opening.causedBy,
    reason: opening.reason,
    pins: JSON.stringify(pins),
    request: JSON.stringify(request),
    continuation: opening.continuation === null ? null : JSON.stringify(opening.continuation),
    base: assignment.line_head,
  });
  if (breach) await callForPolicy(parts, tx, task, id, breach);
  record(parts, tx, {
    task: task.id,
    type: 'dispatch_opened',
    source: 'controller',
    payload: {
      dispatch: id,
      assignment: assignment.id,
      attempt: assignment.attempt,
      reason: opening.reason,
      member: assignment.member,
    },
  });
  return id;
}

/** The policy became narrower than the team: the lane stands still, and a person is told what to do. */
async function callForPolicy(
  parts: TeamParts,
  tx: Transaction,
  task: TaskRow,
  job: string,
  { message }: Breach,
): Promise<void> {
  const summary = `${message} The work waits until an admin allows it (\`longshore policy set\`), or the Task is cancelled.`;
  await openAttention(parts, tx, { task: task.id, job, kind: 'policy_refused', summary });
}

function pinMember(task: TaskRow, team: readonly TeamMemberRow[], member: string): Pins & { granted: Grants } {
  const row = team.find((other) => other.member === member);
  if (!row) throw new Error('the current revision does not hold the member');
  const { provider } = row.configuration;
  return {
    team_revision: row.revision,
    member: row.member,
    config_id: row.config_id,
    basis_id: row.basis_id,
    granted: authoredGrants(row.configuration),
    provider: chosen(provider ?? { kind: task.settings.default_provider }, task),
  };
}

function chosen(provider: Pins['provider'], task: TaskRow): Pins['provider'] {
  const { kind, model, effort, sandbox, extension_mode } = provider;
  const account = provider.account ?? task.settings.default_account;
  return { kind, ...(account === undefined ? {} : { account }), model, effort, sandbox, extension_mode };
}

/** Walls that are asked for are a label: a machine that cannot give them is never given the job. */
export function labelsOf(task: TaskRow, { provider: { sandbox } }: Pins): readonly string[] {
  const walls = sandbox !== undefined && sandbox.mode !== 'full_access';
  return walls ? [...task.settings.labels, 'sandbox:bwrap'] : task.settings.labels;
}

/** Where nothing is to be chosen no machine is asked for. */
async function accountOf(parts: TeamParts, tx: Transaction, task: TaskRow, pins: Pins): Promise<string | undefined> {
  const { kind: provider, account: named } = pins.provider;
  const wish = { provider, named, pool: task.settings.pool, labels: labelsOf(task, pins) };
  if (chooseAccount(wish, [], []) === undefined) return undefined;
  const [machines = [], accounts] = await sentTogether([parts.machines?.(tx), parts.queue().accounts(tx)]);
  return chooseAccount(wish, machines, accounts);
}

/** What the Task asks of its workspaces; without a word of it each machine does its best. */
export function isolationOf({ settings: { isolation } }: TaskRow): DispatchPayload['isolation'] {
  return isolation === undefined ? { required: [], allow_fallback: false } : { ...isolation };
}

interface Extras {
  readonly account: string | undefined;
  readonly last: string | undefined;
  readonly tools: readonly string[];
  readonly kinds: readonly string[];
  readonly branches: readonly { readonly branch: string; readonly commit: string }[];
  /** Some member has left some. */
  readonly notes: boolean;
  /** It goes on from this one's end. */
  readonly command: string | undefined;
}

function payloadOf(
  task: TaskRow,
  assignment: AssignmentRow,
  pins: Pins,
  { account, last, tools, kinds, branches, notes, command }: Extras,
): z.output<typeof DispatchPayload> {
  const { kind, model, effort, sandbox, extension_mode } = pins.provider;
  return {
    task_id: task.id,
    member_id: assignment.member,
    title: task.title,
    provider: kind,
    ...(account === undefined ? {} : { account }),
    ...(model === undefined ? {} : { model }),
    ...(effort === undefined ? {} : { effort }),
    ...(sandbox === undefined ? {} : { sandbox }),
    ...(extension_mode === undefined ? {} : { extension_mode }),
    base: assignment.line_head,
    tools: [...tools],
    ...(kinds.length === 0 ? {} : { human_kinds: z.array(HumanRequestKind).parse(kinds) }),
    ...(branches.length === 0 ? {} : { branches: [...branches] }),
    ...(notes ? { notes } : {}),
    ...(command === undefined ? {} : { command_output: command }),
    task_directory: taskDirectory(task.id),
    ...(last === undefined ? {} : { prefer: last }),
    assignment_id: assignment.id,
    ...inPlaceOf(task),
    isolation: isolationOf(task),
  };
}
