import { z } from 'zod';
import { contract } from './contract.js';
import { AgentId, Labels, PoolName } from './ids.js';
import { OpenJobKind } from './jobs.js';
import { limits } from './limits.js';
import { prose } from './text.js';

/** The door that tokens of agents open. They are given by client credentials at `loginPaths.token` (RFC 6749 4.4, RFC 8707). */
export const agentDoorPath = '/mcp/agent';

export const AccessTarget = z
  .string()
  .max(80)
  .regex(/^(plugin:[a-z][a-z0-9_]*|([a-z][a-z0-9_]*\.)?[a-z][a-z0-9]*(_[a-z0-9]+)*)$/)
  .describe('an operation such as task_get, or plugin:<name> for all of a plugin');

export const AgentView = z.strictObject({
  agent_id: AgentId,
  name: z.string(),
  /** The person that it works for. */
  owner: z.string(),
  state: z.enum(['active', 'disabled', 'revoked']),
  /** Kinds of jobs that it may take. */
  kinds: z.array(z.string()),
  pool: z.string(),
  labels: z.array(z.string()),
  /** Leases that it may hold at once. */
  slots: z.int(),
  grants: z.array(z.string()),
  secret_made_at: z.string(),
  /** When it last got a token. */
  token_at: z.string().nullable(),
});
export type AgentView = z.output<typeof AgentView>;

/** Shown once, never again and nowhere else (H41). */
const NewSecret = z.strictObject({
  agent_id: AgentId,
  secret: z.string(),
  /** Where it is exchanged for tokens, and the door that they open. */
  token_url: z.string(),
  mcp_url: z.string(),
});

export const agentCreate = contract({
  name: 'agent_create',
  summary: 'Make an agent: a name, the kinds of jobs that it may take, and a secret that is shown once.',
  input: z.strictObject({
    name: prose(64).describe('name for people'),
    kinds: z
      .array(OpenJobKind)
      .max(limits.agentKinds)
      .refine((kinds) => new Set(kinds).size === kinds.length, { params: { rule: 'unique' } })
      .default([])
      .describe('kinds of jobs that it may take; absent: none'),
    pool: PoolName.default('default').describe('pool whose jobs it may take'),
    labels: Labels.default([]).describe('labels that jobs may ask of it'),
    slots: z.int().min(1).max(limits.agentSlots).default(1).describe('leases that it may hold at once'),
  }),
  output: NewSecret,
  positional: ['name'],
});

export const agentList = contract({
  name: 'agent_list',
  summary: 'Agents: what they may take, what they are granted, when they were last here.',
  input: z.strictObject({}),
  output: z.strictObject({ agents: z.array(AgentView) }),
});

/** By its id; `agent_id` is a word of the envelope (A2.7). */
const oneAgent = z.strictObject({ agent: AgentId });
const agentAfter = z.strictObject({
  agent_id: AgentId,
  state: AgentView.shape.state,
  /** Jobs that it held: they are queued again. */
  jobs_returned: z.int(),
});

export const agentDisable = contract({
  name: 'agent_disable',
  summary: 'Refuse an agent everything at once, until it is enabled again; its jobs go back into the queue.',
  input: oneAgent,
  output: agentAfter,
  errors: ['not_found', 'conflict'],
  positional: ['agent'],
});

export const agentEnable = contract({
  name: 'agent_enable',
  summary: 'Let a disabled agent work again, with the secret and the grants that it had.',
  input: oneAgent,
  output: agentAfter,
  errors: ['not_found', 'conflict'],
  positional: ['agent'],
});

export const agentRevoke = contract({
  name: 'agent_revoke',
  summary: 'End an agent for good: its secret, its grants and its leases.',
  input: oneAgent,
  output: agentAfter,
  errors: ['not_found'],
  positional: ['agent'],
});

export const agentRotate = contract({
  name: 'agent_rotate',
  summary: 'Give an agent a new secret, shown once; the old one is worth nothing from then on.',
  input: oneAgent,
  output: NewSecret,
  errors: ['not_found', 'conflict'],
  positional: ['agent'],
});

const GrantView = z.strictObject({
  agent_id: AgentId,
  target: z.string(),
  granted_by: z.string(),
  granted_at: z.string(),
});

const oneGrant = z.strictObject({ agent: AgentId, target: AccessTarget });

export const grantAdd = contract({
  name: 'grant_add',
  summary: 'Let an agent call an operation, or all of a plugin (`plugin:<name>`), as far as they are offered.',
  input: oneGrant,
  output: z.strictObject({
    agent_id: AgentId,
    target: z.string(),
    granted: z.boolean(),
    /** Whether it is offered to agents now; else the grant waits for `exposure_set`. */
    offered: z.boolean(),
  }),
  errors: ['not_found', 'unknown_operation', 'conflict'],
  positional: ['agent', 'target'],
});

export const grantRevoke = contract({
  name: 'grant_revoke',
  summary: 'Take a grant back: from the next call on, and from mutations that run.',
  input: oneGrant,
  output: z.strictObject({ agent_id: AgentId, target: z.string(), revoked: z.boolean() }),
  errors: ['not_found'],
  positional: ['agent', 'target'],
});

export const grantList = contract({
  name: 'grant_list',
  summary: 'What agents are granted, and by whom.',
  input: z.strictObject({ agent: AgentId.optional().describe('only grants of this agent, by its id') }),
  output: z.strictObject({ grants: z.array(GrantView) }),
  positional: ['agent'],
});

const SettingView = z.strictObject({
  target: z.string(),
  owner: z.enum(['config', 'user']),
  offered: z.boolean(),
  changed_by: z.string(),
  changed_at: z.string(),
});

export const exposureSet = contract({
  name: 'exposure_set',
  summary: 'Offer an operation, or all of a plugin, over MCP, take it back, or leave it to the default.',
  input: z.strictObject({
    target: AccessTarget,
    offered: z
      .enum(['on', 'off', 'default'])
      .describe("default takes back what people have set; what the farm's file says stays"),
  }),
  output: z.strictObject({
    target: z.string(),
    before: z.enum(['on', 'off', 'default']),
    after: z.enum(['on', 'off', 'default']),
    /** Operations of the target that are offered now. */
    offered: z.array(z.string()),
  }),
  errors: ['unknown_operation', 'above_ceiling'],
  positional: ['target', 'offered'],
});

export const exposureList = contract({
  name: 'exposure_list',
  summary: 'What is offered over MCP, operation by operation, and why.',
  input: z.strictObject({
    target: AccessTarget.optional().describe('only this operation, or plugin:<name>; absent: all'),
  }),
  output: z.strictObject({
    operations: z.array(
      z.strictObject({
        name: z.string(),
        offered: z.boolean(),
        /** As the code has it. */
        ceiling: z.enum(['never', 'off', 'on']),
        /** The file has lifted it from never to off. */
        lifted: z.boolean(),
        /** The rows that decide, or the ceiling, in a sentence. */
        why: z.string(),
      }),
    ),
    settings: z.array(SettingView),
  }),
  errors: ['unknown_operation'],
  positional: ['target'],
});

export const OauthTokenReply = z.strictObject({
  access_token: z.string(),
  token_type: z.literal('Bearer'),
  expires_in: z.int(),
  scope: z.string(),
});
export type OauthTokenReply = z.output<typeof OauthTokenReply>;
