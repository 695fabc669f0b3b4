import { z } from 'zod';
import { AuthoredId, Label } from './ids.js';
import { limits } from './limits.js';
import { outsideText } from './outside-text.js';
import { prose } from './text.js';

export const sandboxPairs = ['read_only/deny', 'workspace_write/deny', 'workspace_write/allow', 'full_access/allow'];

/** What a member's sessions may do: rungs of the sandbox, and whether the network is there at all. */
export const AuthoredSandbox = z
  .strictObject({
    mode: z
      .enum(['read_only', 'workspace_write', 'full_access'])
      .describe('what may be written: nothing, the workspace, anything'),
    network: z.enum(['deny', 'allow']).describe("deny: the provider's hosts alone; allow: others, too"),
  })
  .refine((sandbox) => sandboxPairs.includes(`${sandbox.mode}/${sandbox.network}`), {
    params: { rule: 'sandbox_pair' },
  });

/** inherit: what the repository brings for agents is read: CLAUDE.md, AGENTS.md, skills, .mcp.json. */
export const ExtensionMode = z.enum(['inherit', 'isolated']);
const extensionText = 'isolated: what the repository brings for agents is not read';
const effortText = 'how much the model thinks';

export const efforts = {
  claude: ['low', 'medium', 'high', 'xhigh', 'max'],
  codex: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'],
} as const;

const common = {
  account: Label.optional().describe('provider account; absent: one that anybody may use'),
  model: z.string().min(1).max(255).optional().describe('as the provider calls it; absent: its default'),
  sandbox: AuthoredSandbox.optional().describe('walls around its sessions'),
  extension_mode: ExtensionMode.optional().describe(extensionText),
};

/** Which agent does a member's turns; never inherited from the parent member. */
export const MemberProvider = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('claude').describe('the agent Claude Code'),
    ...common,
    effort: z.enum(efforts.claude).optional().describe(effortText),
  }),
  z.strictObject({
    kind: z.literal('codex').describe('the agent Codex'),
    ...common,
    effort: z.enum(efforts.codex).optional().describe(effortText),
  }),
  z.strictObject({
    kind: z.literal('acp').describe('any agent that speaks the Agent Client Protocol; the account says which'),
    ...common,
    /** Its protocol has no word for isolating, and each agent looks for other files. */
    extension_mode: ExtensionMode.refine((mode) => mode === 'inherit', { params: { rule: 'acp_isolated' } })
      .optional()
      .describe('what the repository brings for agents is read'),
  }),
  z.strictObject({
    kind: z.literal('scripted').describe('follows a script and no model: for demonstrations and tests'),
    ...common,
  }),
]);
export type MemberProvider = z.output<typeof MemberProvider>;

export const ProviderKind = z.enum(['claude', 'codex', 'acp', 'scripted']);

export const HumanRequestKind = z.enum(['input', 'direction', 'approval', 'review']);

/** What a member may ask for; absent is denied, nothing is inherited. An empty block is refused. */
export const MemberCapabilities = z
  .strictObject({
    human_request: z
      .array(HumanRequestKind)
      .min(1)
      .refine((kinds) => new Set(kinds).size === kinds.length, { params: { rule: 'unique' } })
      .optional()
      .describe('kinds of questions that it may ask people; absent: none'),
    command_run: z.literal('allow').optional().describe('it may have the farm run commands, for hours if need be'),
  })
  .refine((block) => Object.keys(block).length > 0, { params: { rule: 'not_empty' } });
export type MemberCapabilities = z.output<typeof MemberCapabilities>;

/** What the fields of a member say, wherever it is described. */
export const memberTexts = {
  title: 'short name for people',
  description: 'what this member answers for; its parent reads it when it gives work out',
  instruction: 'how this member is to work; only the member itself is told',
  provider: 'which agent does its turns; absent: the one that the Task or the farm names',
  capabilities: 'what this member may ask for; what is not named is denied, and nothing is inherited',
} as const;

const memberFields = {
  id: AuthoredId.describe('lower-case words joined by - or _; each id stands once in a workflow'),
  title: outsideText(prose(limits.memberTitle)).optional().describe(memberTexts.title),
  description: outsideText(prose(limits.memberProse)).optional().describe(memberTexts.description),
  instruction: outsideText(prose(limits.memberProse)).optional().describe(memberTexts.instruction),
  provider: MemberProvider.optional().describe(memberTexts.provider),
  capabilities: MemberCapabilities.optional().describe(memberTexts.capabilities),
};

/** One member without those below it. */
export const MemberFields = z.strictObject(memberFields);

/** A responsibility and those below it. */
export type WorkflowMember = z.output<typeof MemberFields> & {
  readonly children?: readonly WorkflowMember[] | undefined;
};
export const WorkflowMember: z.ZodType<WorkflowMember> = z
  .strictObject({
    ...memberFields,
    children: z
      .array(z.lazy(() => WorkflowMember))
      .max(limits.workflowChildren)
      .optional()
      .describe('the direct team, in an order that is for display only'),
  })
  .describe('a member with the team below it; the lead answers for the whole job');

/** The same for the document's own fields. */
export const workflowTexts = {
  description: 'what this team is for, in a line or two: for whoever chooses a workflow',
  note: 'what every member is told',
} as const;

/** The authored document: one tree of responsibilities. Tree-wide limits and twin ids are checked by the catalogue. */
export const WorkflowDocument = z.strictObject({
  kind: z.literal('workflow').describe('what the document is'),
  id: AuthoredId.describe('its name in the library; the same name again is the next revision'),
  description: outsideText(prose(limits.workflowDescription)).describe(workflowTexts.description),
  note: outsideText(prose(limits.workflowNote)).optional().describe(workflowTexts.note),
  lead: WorkflowMember,
});
export type WorkflowDocument = z.output<typeof WorkflowDocument>;
