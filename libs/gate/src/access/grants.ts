import { FarmError } from '#contracts';
import type { Queries, Transaction } from '#store';
import type { Registry } from '../registry.js';
import { accessSql } from '../sql/access.js';
import { agentsSql } from '../sql/agents.js';
import { noteChange } from './changes.js';
import { pluginOf, pluginTarget } from './targets.js';

export interface Grant {
  readonly agent: string;
  /** An operation by name, or `plugin:<name>`. */
  readonly target: string;
}

export interface GrantRow extends Grant {
  readonly granted_by: string;
  readonly granted_at: Date;
}

/**
 * Errors: FarmError unknown_operation for a name that nobody could call with it: people are there to mend it, unlike a file (A4.9);
 * not_found, conflict for the agent.
 */
export async function addGrant(
  tx: Transaction,
  { agent, target }: Grant,
  by: string,
  registry: Pick<Registry<never>, 'all'>,
): Promise<boolean> {
  await tx.run(accessSql.lockToChange);
  checkTarget(target, registry);
  const row = await tx.first(agentsSql.agent, { id: agent });
  if (!row) throw noAgent();
  if (row.revoked_at !== null) throw new FarmError('conflict', 'The agent is revoked, for good');
  const added = await tx.first(agentsSql.addGrant, { agent, target, by });
  if (added) await noteChange(tx, { kind: 'grant', owner: agent, target, before: null, after: true, by });
  return added !== undefined;
}

/** False where there was none. Calls that were judged by it are waited for; the next sees it gone (A4.6, A4.10). */
export async function revokeGrant(tx: Transaction, { agent, target }: Grant, by: string): Promise<boolean> {
  await tx.run(accessSql.lockToChange);
  if (!(await tx.first(agentsSql.agent, { id: agent }))) throw noAgent();
  const dropped = await tx.first(agentsSql.dropGrant, { agent, target });
  if (dropped) await noteChange(tx, { kind: 'grant', owner: agent, target, before: true, after: null, by });
  return dropped !== undefined;
}

/** All, or those of one agent. */
export function listGrants(queries: Queries, agent?: string): Promise<readonly GrantRow[]> {
  return queries.all(agentsSql.grants, { agent: agent ?? null });
}

/** Errors: FarmError unknown_operation. */
export function checkTarget(target: string, registry: Pick<Registry<never>, 'all'>): void {
  const isKnown = registry.all.some(({ name, access }) => {
    const plugin = pluginOf(name);
    const isPersons = access.catalogue === 'operator' || access.catalogue === 'admin';
    return (isPersons && name === target) || (plugin !== undefined && pluginTarget(plugin) === target);
  });
  if (isKnown) return;
  throw new FarmError('unknown_operation', 'There is no operation or plugin of this name to be granted', {
    hint: 'longshore exposure list shows the names; the job protocol needs no grant.',
  });
}

const noAgent = (): FarmError =>
  new FarmError('not_found', 'There is no such agent', { hint: 'longshore agent list shows them.' });
