import { FarmError, Policy, type Preview } from '#contracts';
import type { Queries, Transaction } from '#store';
import type { TeamParts } from '../parts.js';
import type { TaskRow } from '../rows.js';
import { policySql } from '../sql/policy.js';
import { attentionSql, teamSql } from '../sql/teams.js';
import { lockTask } from '../task/lock-task.js';
import { type Breach, breachesOf } from './policy-rules.js';

export interface PolicyView {
  readonly policy: Policy;
  readonly changed_by: string | null;
  readonly changed_at: string | null;
}

/** As it is now; nothing is limited before somebody sets one. */
export async function readPolicy(queries: Queries): Promise<Policy> {
  return Policy.parse((await queries.first(policySql.read))?.rules ?? {});
}

export async function showPolicy(queries: Queries): Promise<PolicyView> {
  return viewOf(await queries.first(policySql.read));
}

/** What waited for this policy goes on with it. */
export async function setPolicy(
  parts: Pick<TeamParts, 'queue'>,
  tx: Transaction,
  by: string,
  policy: Policy,
): Promise<PolicyView> {
  const written = await tx.first(policySql.write, { rules: JSON.stringify(policy), by });
  const lanes = Map.groupBy(await tx.all(policySql.waiting), ({ task }) => task);
  for (const [id, ofTask] of lanes) {
    if (ofTask.some(({ pins }) => breachesOf(policy, pins.provider).length > 0)) continue;
    const task = await lockTask(tx, id);
    // A paused one has everything released when it is resumed.
    if (task.status === 'running') await parts.queue().release(tx, id);
    tx.later(attentionSql.closeOfTask, { task: id, kinds: ['policy_refused'] });
  }
  return viewOf(written);
}

/** Each rule that would be another one. */
export async function previewPolicy(queries: Queries, wanted: Policy): Promise<Preview> {
  const now = await readPolicy(queries);
  const rules = ['sandbox', 'providers', 'models', 'human_request', 'command_run', 'budget'] as const;
  const changes = rules.map((id) => ({ id, before: now[id] ?? null, after: wanted[id] ?? null }));
  const changed = changes.filter(({ before, after }) => JSON.stringify(before) !== JSON.stringify(after));
  return { summary: `This would change ${changed.length} rules of the policy`, changes: changed };
}

/** All that is broken in one sentence each. @throws policy_refused */
export function refuseBreaches(breaches: readonly Breach[]): void {
  if (breaches.length === 0) return;
  const fields = breaches.map(({ rule, path }) => ({
    path: path.map((step) => `/${step}`).join(''),
    rule: `policy:${rule}`,
  }));
  throw new FarmError('policy_refused', [...new Set(breaches.map(({ message }) => message))].join(' '), {
    fields,
    hint: 'Ask for less, or have an admin change the policy (`longshore policy show`, `policy set`).',
  });
}

/** Before a Task goes on: what a member asks for must be allowed, or its lane would stand still at once. @throws policy_refused */
export async function requirePolicy(tx: Transaction, task: TaskRow): Promise<void> {
  const policy = await readPolicy(tx);
  if (task.team_revision === null || Object.keys(policy).length === 0) return;
  const team = await tx.all(teamSql.members, { revision: task.team_revision });
  const kind = task.settings.default_provider;
  refuseBreaches(team.flatMap(({ configuration }) => breachesOf(policy, configuration.provider ?? { kind })));
}

function viewOf(row: { rules: unknown; changed_by: string; changed_at: Date } | undefined): PolicyView {
  if (!row) return { policy: {}, changed_by: null, changed_at: null };
  return { policy: Policy.parse(row.rules), changed_by: row.changed_by, changed_at: row.changed_at.toISOString() };
}
