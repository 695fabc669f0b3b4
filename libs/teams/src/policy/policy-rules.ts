import type { Budget, MemberProvider, Policy, WorkflowMember } from '#contracts';
import type { Grants } from '../rows.js';

type Sandbox = NonNullable<MemberProvider['sandbox']>;

/** As far as the policy looks at a member's provider. */
interface Asked {
  readonly kind: string;
  readonly model?: string | undefined;
  readonly sandbox?: Sandbox | undefined;
}

/** From narrow to wide: each allows all that those before it allow. */
const rungs = ['read_only/deny', 'workspace_write/deny', 'workspace_write/allow', 'full_access/allow'];
const rungOf = ({ mode, network }: Sandbox): number => rungs.indexOf(`${mode}/${network}`);

/** A rule that is broken: which one, for whoever asks for too much. Names the rule and what it allows, never what was asked. */
export interface Breach {
  readonly rule: 'sandbox' | 'providers' | 'models' | 'budget';
  /** Where in what was asked. */
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** What a member asks for beyond the policy. One that says nothing of its walls gets those that are allowed. */
export function breachesOf(policy: Policy, provider: Asked): readonly Breach[] {
  const { sandbox, providers, models } = policy;
  const found: Breach[] = [];
  if (sandbox && provider.sandbox && rungOf(provider.sandbox) > rungOf(sandbox))
    found.push(
      breach('sandbox', ['sandbox'], `allows walls up to mode ${sandbox.mode} with network ${sandbox.network}`),
    );
  if (providers && !providers.some((allowed) => allowed === provider.kind))
    found.push(breach('providers', ['kind'], `allows the providers ${providers.join(', ')}`));
  if (models && (provider.model === undefined || !models.some((allowed) => isNamedBy(allowed, provider.model ?? ''))))
    found.push(breach('models', ['model'], `allows the models ${models.join(', ')}, and each member names its own`));
  return found;
}

/** The same for a whole tree of members, with the places in their document; `kind` is the provider of those that name none. */
export function breachesOfTree(policy: Policy, lead: WorkflowMember, kind: string | undefined): readonly Breach[] {
  const visit = (member: WorkflowMember, path: readonly (string | number)[]): readonly Breach[] => {
    const provider: Asked | undefined = member.provider ?? (kind === undefined ? undefined : { kind });
    const own = provider === undefined ? [] : breachesOf(policy, provider);
    return [
      ...own.map((each) => ({ ...each, path: [...path, 'provider', ...each.path] })),
      ...(member.children ?? []).flatMap((child, n) => visit(child, [...path, 'children', n])),
    ];
  };
  return visit(lead, ['lead']);
}

export function breachOfBudget({ budget: most }: Policy, asked: Budget | undefined): Breach | undefined {
  if (!most || !asked) return undefined;
  const over = budgetKeys.filter((key) => (asked[key] ?? 0) > (most[key] ?? Number.POSITIVE_INFINITY));
  if (over.length === 0) return undefined;
  const allowed = over.map((key) => `${most[key]} ${key}`).join(', ');
  return breach('budget', ['budget'], `allows a Task up to ${allowed}`);
}

/** The Task's own budget, and the policy's where it says nothing. */
export function budgetUnder({ budget: most }: Policy, asked: Budget | undefined): Budget | undefined {
  return most || asked ? { ...most, ...asked } : undefined;
}

/** Walls are never wider than the policy's, whoever forgot to name them. */
export function sandboxUnder({ sandbox: most }: Policy, asked: Sandbox | undefined): Sandbox | undefined {
  if (!most || most.mode === 'full_access') return asked;
  return asked && rungOf(asked) <= rungOf(most) ? asked : most;
}

/** Of what a workflow grants, what the policy lets be; never more (I20). */
export function grantsUnder({ human_request: kinds, command_run }: Policy, granted: Grants): Grants {
  return {
    human_request: granted.human_request.filter((kind) => kinds === undefined || kinds.includes(kind)),
    command_run: command_run === 'deny' ? 'deny' : granted.command_run,
  };
}

const budgetKeys = ['usd', 'tokens', 'requests'] as const;

function isNamedBy(allowed: string, model: string): boolean {
  return allowed.endsWith('*') ? model.startsWith(allowed.slice(0, -1)) : model === allowed;
}

function breach(rule: Breach['rule'], path: Breach['path'], what: string): Breach {
  return { rule, path, message: `The policy of this farm (rule ${rule}) ${what}.` };
}
