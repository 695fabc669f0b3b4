import { grantAdd, grantList, grantRevoke } from '#contracts';
import { type Access, addGrant, checkTarget, listExposure, listGrants, revokeGrant } from '#gate';
import { operation } from '../../operation.js';
import { onlyPerson } from './person-of.js';

const giving: Access = { catalogue: 'admin', class: 'mutate', ceiling: 'never' };

export const grantAddOperation = operation(grantAdd, giving, {
  async preview({ agent: agent_id, target }, { services }, tx) {
    const { name, grants } = await services.identity.agents.view(tx, agent_id);
    checkTarget(target, services.registry);
    return {
      summary: `Grants ${target} to the agent ${name}`,
      changes: [{ id: `${agent_id} ${target}`, before: grants.includes(target) ? true : null, after: true }],
    };
  },
  async run({ agent: agent_id, target }, _, { services, principal }, tx) {
    const { registry } = services;
    const granted = await addGrant(tx, { agent: agent_id, target }, onlyPerson(principal).id, registry);
    const { operations } = await listExposure(tx, registry, target);
    return { agent_id, target, granted, offered: operations.some(({ offered }) => offered) };
  },
});

export const grantRevokeOperation = operation(grantRevoke, giving, {
  async preview({ agent: agent_id, target }, { services }, tx) {
    const { name, grants } = await services.identity.agents.view(tx, agent_id);
    return {
      summary: `Takes ${target} from the agent ${name}, at once`,
      changes: grants.includes(target) ? [{ id: `${agent_id} ${target}`, before: true, after: null }] : [],
    };
  },
  async run({ agent: agent_id, target }, _, { principal }, tx) {
    const revoked = await revokeGrant(tx, { agent: agent_id, target }, principal.id);
    return { agent_id, target, revoked };
  },
});

export const grantListOperation = operation(
  grantList,
  { catalogue: 'admin', class: 'read', ceiling: 'never' },
  {
    async run({ agent: of }, _, _call, tx) {
      const rows = await listGrants(tx, of);
      return {
        grants: rows.map(({ agent, target, granted_by, granted_at }) => ({
          agent_id: agent,
          target,
          granted_by,
          granted_at: granted_at.toISOString(),
        })),
      };
    },
  },
);
