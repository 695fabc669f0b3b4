import { z } from 'zod';
import { type Contract, FarmError, type FieldError } from '#contracts';
import type { ArgumentField } from './fields.js';

type Given = Readonly<Record<string, unknown>>;
/** By the input's field: the flag of a command that fills it in its own way. */
type Flags = Readonly<Record<string, string>>;

/**
 * The input of a call from a whole JSON document (`--input`) and single arguments on top of it. It is checked here too, so that
 * a wrong call is told without a farm; it goes out as given, and the farm fills the defaults. FarmError invalid_input.
 */
export function readInput(
  contract: Contract,
  fields: readonly ArgumentField[],
  given: Given,
  whole: unknown,
  flags: Flags = {},
): unknown {
  const single = fields.flatMap((field) => {
    const value = given[field.name];
    return value === undefined ? [] : [[field.name, typedValue(field, value)]];
  });
  const input = { ...asObject(whole), ...Object.fromEntries(single) };
  const parsed = contract.input.safeParse(input, { reportInput: true });
  if (parsed.success) return input;
  throw new FarmError('invalid_input', 'The arguments do not fit.', {
    fields: parsed.error.issues.map((issue) => fieldError(issue, contract, fields, flags)),
    hint: 'Add --help to see the arguments of this command.',
  });
}

function typedValue(field: ArgumentField, value: unknown): unknown {
  if (field.nullable && value === 'none') return null;
  if (field.shape !== 'number' || typeof value !== 'string') return value;
  const number = Number(value);
  return value.trim() === '' || Number.isNaN(number) ? value : number;
}

function asObject(whole: unknown): Given {
  if (whole === undefined) return {};
  const parsed = z.record(z.string(), z.unknown()).safeParse(whole);
  if (parsed.success) return parsed.data;
  throw new FarmError('invalid_input', 'The document given with --input is not a JSON object.');
}

function fieldError(
  issue: z.core.$ZodIssue,
  contract: Contract,
  fields: readonly ArgumentField[],
  flags: Flags,
): FieldError {
  const [first, ...rest] = issue.path.map(String);
  const field = fields.find(({ name }) => name === first);
  const named = flags[first ?? ''] ?? (field === undefined ? `/${first ?? ''}` : asTyped(field, contract));
  return { path: [named, ...rest].join('/'), rule: ruleOf(issue) };
}

const asTyped = (field: ArgumentField, contract: Contract) =>
  contract.positional.includes(field.name) ? `<${field.name}>` : `--${field.flag}`;

const Rule = z.looseObject({ rule: z.string() });

function ruleOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'custom') return Rule.safeParse(issue.params).data?.rule ?? 'not permitted';
  if (issue.code === 'invalid_type') return issue.input === undefined ? 'is missing' : `must be a ${issue.expected}`;
  if (issue.code === 'unrecognized_keys') return 'has unknown fields';
  return boundOf(issue) ?? issue.code.replaceAll('_', ' ');
}

/** The limit that it is over, in the words of who typed it. */
function boundOf(issue: z.core.$ZodIssue): string | undefined {
  const what = (origin: string): string => units[origin] ?? '';
  if (issue.code === 'too_small') return `must be at least ${issue.minimum}${what(issue.origin)}`;
  if (issue.code === 'too_big') return `must be at most ${issue.maximum}${what(issue.origin)}`;
  if (issue.code === 'invalid_format') return formOf(issue);
  if (issue.code === 'invalid_value')
    return issue.input === undefined ? 'is missing' : `must be one of ${issue.values.map(String).join(', ')}`;
  return undefined;
}

/** An id of the farm, as `short` of the contracts makes its pattern. */
const farmId = /^\/\^([a-z]+)_\[[^\]]+\]\{8\}\$\/[a-z]*$/;

/** The form that it does not have: in words where there are some, else the pattern that the contract publishes. */
function formOf({
  format,
  pattern,
}: z.core.$ZodIssueInvalidStringFormat | { format: string; pattern?: string }): string {
  const said = forms[format];
  if (said !== undefined) return said;
  const prefix = pattern === undefined ? undefined : farmId.exec(pattern)?.[1];
  if (prefix !== undefined) return `must be an id that begins with ${prefix}_, not a name`;
  return pattern === undefined ? `must have the form ${format}` : `must have the form ${pattern}`;
}

const forms: Readonly<Record<string, string>> = {
  datetime: 'must be a time such as 2026-01-31T08:00:00Z',
  uuid: 'must be a whole UUID, as the lists show it with --json',
};

const units: Readonly<Record<string, string>> = { string: ' characters', array: ' entries' };
