import { z } from 'zod';
import { AuthoredId, Label } from './ids.js';
import { limits } from './limits.js';
import { outsideText } from './outside-text.js';
import { prose } from './text.js';

export const sandboxPairs = ['read_only/deny', 'workspace_write/deny', 'workspace_write/allow', 'full_access/allow'];

/** What a member's sessions may do: rungs of the sandbox, and whether the network is there at all. */
export const AuthoredSandbox = z
  .strictObject({ mode: z.enum(['read_only', 'workspace_write', 'full_access']), network: z.enum(['deny', 'allow']) })
  .refine((sandbox) => sandboxPairs.includes(`${sandbox.mode}/${sandbox.network}`), {
    params: { rule: 'sandbox_pair' },
  });

/** inherit: what the repository brings for agents is read: CLAUDE.md, AGENTS.md, skills, .mcp.json. */
export const ExtensionMode = z.enum(['inherit', 'isolated']);

export const efforts = {
  claude: ['low', 'medium', 'high', 'xhigh', 'max'],
  codex: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'],
} as const;

const common = {
  /** The provider account that does the turns; else one that its machine's owner lets anybody use. */
  account: Label.optional(),
  model: z.string().min(1).max(255).optional(),
  sandbox: AuthoredSandbox.optional(),
  extension_mode: ExtensionMode.optional(),
};

/** Which agent does a member's turns; never inherited from the parent member. */
export const MemberProvider = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('claude'), ...common, effort: z.enum(efforts.claude).optional() }),
  z.strictObject({ kind: z.literal('codex'), ...common, effort: z.enum(efforts.codex).optional() }),
  /** Any agent that speaks the Agent Client Protocol: which one, the account says. */
  z.strictObject({
    kind: z.literal('acp'),
    ...common,
    /** Its protocol has no word for isolating, and each agent looks for other files. */
    extension_mode: ExtensionMode.refine((mode) => mode === 'inherit', { params: { rule: 'acp_isolated' } }).optional(),
  }),
  /** Follows a script and no model: for demonstrations and tests. */
  z.strictObject({ kind: z.literal('scripted'), ...common }),
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
      .optional(),
    command_run: z.literal('allow').optional(),
  })
  .refine((block) => Object.keys(block).length > 0, { params: { rule: 'not_empty' } });
export type MemberCapabilities = z.output<typeof MemberCapabilities>;

const memberFields = {
  id: AuthoredId,
  title: outsideText(prose(limits.memberTitle)).optional(),
  description: outsideText(prose(limits.memberProse)).optional(),
  instruction: outsideText(prose(limits.memberProse)).optional(),
  provider: MemberProvider.optional(),
  capabilities: MemberCapabilities.optional(),
};

/** One member without those below it. */
export const MemberFields = z.strictObject(memberFields);

/** A responsibility and those below it. */
export type WorkflowMember = z.output<typeof MemberFields> & {
  readonly children?: readonly WorkflowMember[] | undefined;
};
export const WorkflowMember: z.ZodType<WorkflowMember> = z.strictObject({
  ...memberFields,
  children: z
    .array(z.lazy(() => WorkflowMember))
    .max(limits.workflowChildren)
    .optional(),
});

/** The authored document: one tree of responsibilities. Tree-wide limits and twin ids are checked by the catalogue. */
export const WorkflowDocument = z.strictObject({
  kind: z.literal('workflow'),
  id: AuthoredId,
  description: outsideText(prose(limits.workflowDescription)),
  note: outsideText(prose(limits.workflowNote)).optional(),
  lead: WorkflowMember,
});
export type WorkflowDocument = z.output<typeof WorkflowDocument>;
