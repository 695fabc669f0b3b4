import {
  type AgentView,
  agentCreate,
  agentDisable,
  agentEnable,
  agentList,
  agentRevoke,
  agentRotate,
  FarmError,
  loginPaths,
} from '#contracts';
import type { Access, AgentSecret, Call } from '#gate';
import type { Transaction } from '#store';
import type { Services } from '../../farm.js';
import { operation } from '../../operation.js';
import { onlyPerson } from './person-of.js';

const ruling: Access = { catalogue: 'admin', class: 'mutate', ceiling: 'never' };

/** The secret is shown once: no receipt keeps it (H41). */
export const agentCreateOperation = operation(
  agentCreate,
  { ...ruling, consent: 'implied', answer: 'secret' },
  {
    preview: async ({ name }) => ({ summary: `Makes the agent ${name}`, changes: [] }),
    async run(wanted, _, { services, principal }, tx) {
      const made = await services.identity.agents.create(tx, { ...wanted, owner: onlyPerson(principal).id });
      return shownOnce(made, services);
    },
  },
);

export const agentRotateOperation = operation(
  agentRotate,
  { ...ruling, answer: 'secret' },
  {
    preview: (input, call, tx) => previewOf(call, tx, input, (state) => state, 'Gives a new secret to'),
    async run({ agent: agent_id }, _, { services, principal }, tx) {
      onlyPerson(principal);
      return shownOnce(await services.identity.agents.rotate(tx, agent_id), services);
    },
  },
);

export const agentListOperation = operation(
  agentList,
  { catalogue: 'admin', class: 'read', ceiling: 'never' },
  {
    async run(_input, _, { services }, tx) {
      return { agents: [...(await services.identity.agents.list(tx))] };
    },
  },
);

/** Its leases end with it: what it writes under them from here on is stale (A12.12). */
export const agentDisableOperation = operation(agentDisable, ruling, {
  preview: (input, call, tx) => previewOf(call, tx, input, () => 'disabled', 'Refuses everything to'),
  async run({ agent: agent_id }, _, { services }, tx) {
    await services.identity.agents.disable(tx, agent_id);
    const jobs = await services.queue.releaseHolder(tx, agent_id, 'its agent was disabled');
    return { agent_id, state: 'disabled' as const, jobs_returned: jobs.length };
  },
});

export const agentEnableOperation = operation(
  agentEnable,
  { ...ruling, consent: 'implied' },
  {
    preview: (input, call, tx) => previewOf(call, tx, input, () => 'active', 'Enables'),
    async run({ agent: agent_id }, _, { services, principal }, tx) {
      onlyPerson(principal);
      await services.identity.agents.enable(tx, agent_id);
      return { agent_id, state: 'active' as const, jobs_returned: 0 };
    },
  },
);

export const agentRevokeOperation = operation(agentRevoke, ruling, {
  preview: (input, call, tx) => previewOf(call, tx, input, () => 'revoked', 'Ends, for good,'),
  async run({ agent: agent_id }, _, { services, principal }, tx) {
    await services.identity.agents.revoke(tx, agent_id, principal.id);
    const jobs = await services.queue.releaseHolder(tx, agent_id, 'its agent was revoked');
    return { agent_id, state: 'revoked' as const, jobs_returned: jobs.length };
  },
});

async function previewOf(
  call: Call<Services>,
  tx: Transaction,
  { agent: agent_id }: { readonly agent: string },
  after: (before: AgentView['state']) => AgentView['state'],
  verb: string,
) {
  const { name, state } = await call.services.identity.agents.view(tx, agent_id);
  return {
    summary: `${verb} the agent ${name}`,
    changes: [{ id: agent_id, before: { state }, after: { state: after(state) } }],
  };
}

function shownOnce({ id, secret }: AgentSecret, { address, identity }: Services) {
  const { publicUrl } = address;
  const mcp_url = identity.agentResource;
  if (publicUrl === undefined || mcp_url === undefined)
    throw new FarmError('unavailable', 'The controller does not listen yet');
  return { agent_id: id, secret, token_url: `${publicUrl.replace(/\/+$/, '')}${loginPaths.token}`, mcp_url };
}
