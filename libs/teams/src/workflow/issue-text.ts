import type { z } from 'zod';

const rules: Readonly<Record<string, string>> = {
  blank: 'Must not be blank.',
  storable: 'Holds a character that can not be kept (NUL, a lone surrogate, or one that XML forbids).',
  sandbox_pair:
    'Not a pair of mode and network that exists: read_only/deny, workspace_write/deny, workspace_write/allow, full_access/allow.',
  acp_isolated: 'Is for claude and codex: an ACP agent can not be kept from what the repository brings for agents.',
  unique: 'Names one thing twice.',
  not_empty: 'Must not be empty: leave the block out instead.',
};

/** What is wrong, for the person who wrote the document; never its prose. */
export function textOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'custom') return rules[ruleOf(issue.params)] ?? 'Does not hold.';
  if (issue.code === 'too_big') return `Too long or too many: at most ${issue.maximum}.`;
  if (issue.code === 'too_small') return `Too short or too few: at least ${issue.minimum}.`;
  if (issue.code === 'invalid_format')
    return 'Does not have the form of an id: lower-case words joined by - or _, starting with a letter.';
  if (issue.code === 'invalid_value') return `Must be one of: ${issue.values.map(String).join(', ')}.`;
  if (issue.code === 'invalid_union') return 'Is none of the kinds that exist: claude, codex, acp, scripted.';
  if (issue.code === 'invalid_type')
    return issue.input === undefined ? 'Is missing.' : `Must be ${nameOf(issue.expected)}.`;
  return 'Does not hold.';
}

const names: Readonly<Record<string, string>> = {
  string: 'text (put it in quotes)',
  object: 'a block of keys',
  array: 'a list',
};
const nameOf = (expected: string): string => names[expected] ?? `of type ${expected}`;

function ruleOf(params: unknown): string {
  return typeof params === 'object' && params !== null && 'rule' in params ? String(params.rule) : '';
}
