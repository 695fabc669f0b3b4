import {
  ExtensionMode,
  efforts,
  HumanRequestKind,
  limits,
  type OutputOf,
  ProviderKind,
  sandboxPairs,
  type workflowAuthoringOptions,
} from '#contracts';
import type { Transaction } from '#store';
import type { TeamParts } from '../parts.js';
import { readPolicy } from '../policy/keep-policy.js';

type Options = OutputOf<typeof workflowAuthoringOptions>;

/** What a workflow may say, and what this farm has of it now. */
export async function readAuthoringOptions(
  parts: Pick<TeamParts, 'machines' | 'defaultProvider'>,
  tx: Transaction,
): Promise<Options> {
  const machines = (await parts.machines?.(tx)) ?? [];
  return {
    fields: [...fields],
    tree: {
      members: limits.workflowMembers,
      depth: limits.workflowDepth,
      children: limits.workflowChildren,
      bytes: limits.workflowBytes,
      nodes: limits.workflowNodes,
    },
    providers: ProviderKind.options.map((kind) => ({
      kind,
      efforts: kind === 'claude' || kind === 'codex' ? [...efforts[kind]] : [],
      extension_modes: kind === 'acp' ? ['inherit'] : [...ExtensionMode.options],
      // The scripted one costs nothing and is on every machine.
      available: kind === 'scripted' || machines.some(({ offers }) => offers.some(({ provider }) => provider === kind)),
    })),
    default_provider: parts.defaultProvider ?? 'scripted',
    sandboxes: sandboxPairs.map((pair) => {
      const [mode = '', network = ''] = pair.split('/');
      return { mode, network };
    }),
    human_request: [...HumanRequestKind.options],
    command_run: ['allow'],
    policy: await readPolicy(tx),
  };
}

const field = (of: 'workflow' | 'member', name: string, at_most: number | null, required = false) => ({
  of,
  name,
  required,
  at_most,
});

const fields: Options['fields'] = [
  field('workflow', 'kind', null, true),
  field('workflow', 'id', limits.workflowId, true),
  field('workflow', 'description', limits.workflowDescription, true),
  field('workflow', 'note', limits.workflowNote),
  field('workflow', 'lead', null, true),
  field('member', 'id', limits.workflowId, true),
  field('member', 'title', limits.memberTitle),
  field('member', 'description', limits.memberProse),
  field('member', 'instruction', limits.memberProse),
  field('member', 'provider', null),
  field('member', 'capabilities', null),
  field('member', 'children', limits.workflowChildren),
];
