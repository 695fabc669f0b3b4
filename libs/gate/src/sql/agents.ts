import { statement } from '#store';

export interface AgentRow {
  readonly id: string;
  readonly name: string;
  readonly owner: string;
  readonly scope: readonly string[];
  readonly pool: string;
  readonly labels: readonly string[];
  readonly slots: number;
  readonly secret_hash: Buffer | null;
  readonly secret_made_at: Date;
  readonly token_at: Date | null;
  readonly disabled_at: Date | null;
  readonly revoked_at: Date | null;
  readonly grants: readonly string[];
}

const columns = `
  p.id, p.name, p.disabled_at, a.owner, a.scope, a.pool, a.labels, a.slots, a.secret_hash, a.secret_made_at, a.token_at, a.revoked_at,
  array(select target from agent_grant where agent = p.id order by target) as grants`;

/** Hand-written SQL of agents and their grants. */
export const agentsSql = {
  agent: statement<AgentRow>(
    'agents.agent',
    `select ${columns} from agent a join principal p using (id) where a.id = $id`,
  ),

  agents: statement<AgentRow>(
    'agents.agents',
    `select ${columns} from agent a join principal p using (id) order by p.created_at, p.id`,
  ),

  insertPrincipal: statement<unknown>(
    'agents.insert_principal',
    `insert into principal (id, kind, name) values ($id, 'agent', $name)`,
  ),

  insert: statement<unknown>(
    'agents.insert',
    `insert into agent (id, owner, scope, pool, labels, slots, secret_hash)
     values ($id, $owner, $scope, $pool, $labels, $slots, $secret_hash)`,
  ),

  disable: statement<unknown>(
    'agents.disable',
    'update principal set disabled_at = coalesce(disabled_at, clock_timestamp()) where id = $id',
  ),

  enable: statement<unknown>('agents.enable', 'update principal set disabled_at = null where id = $id'),

  revoke: statement<unknown>(
    'agents.revoke',
    'update agent set revoked_at = coalesce(revoked_at, clock_timestamp()), secret_hash = null where id = $id',
  ),

  rotate: statement<unknown>(
    'agents.rotate',
    'update agent set secret_hash = $secret_hash, secret_made_at = clock_timestamp() where id = $id',
  ),

  /**
   * Notes a token, if the agent may have one. No row: it may not.
   *  secret_hash               changed since it was compared: the old secret is worth nothing
   *  disabled_at, revoked_at   refused at once (A12.12)
   */
  noteToken: statement<{ id: string }>(
    'agents.note_token',
    `update agent a set token_at = clock_timestamp() from principal p
     where a.id = $id and p.id = a.id and a.secret_hash = $secret_hash and a.revoked_at is null and p.disabled_at is null
     returning a.id`,
  ),

  grants: statement<{ agent: string; target: string; granted_by: string; granted_at: Date }>(
    'agents.grants',
    `select agent, target, granted_by, granted_at from agent_grant
     where $agent::text is null or agent = $agent order by agent, target`,
  ),

  /** No row: it was there. */
  addGrant: statement<{ agent: string }>(
    'agents.add_grant',
    `insert into agent_grant (agent, target, granted_by) values ($agent, $target, $by)
     on conflict do nothing returning agent`,
  ),

  /** No row: it was not there. */
  dropGrant: statement<{ agent: string }>(
    'agents.drop_grant',
    'delete from agent_grant where agent = $agent and target = $target returning agent',
  ),
};
