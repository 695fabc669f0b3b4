import type { z } from 'zod';
import type { FarmErrorCode } from './errors.js';

/**
 * What may be asked and what is answered: the part of an operation that crosses a process boundary. Access (class, ceiling,
 * audit) is the controller's and stands with the rule.
 */
export interface Contract<
  Name extends string = string,
  Input extends z.ZodType = z.ZodType,
  Output extends z.ZodType = z.ZodType,
> {
  readonly name: Name;
  /** First word or words of the name; the command group of the CLI (A2.2, A9.1). */
  readonly group: string;
  /** One line. */
  readonly summary: string;
  readonly input: Input;
  readonly output: Output;
  /** Codes of its own, beside those that any call may get. */
  readonly errors: readonly FarmErrorCode[];
  /** Input fields that the CLI takes without a flag, in order. */
  readonly positional: readonly string[];
}

export type InputOf<C extends Contract> = z.output<C['input']>;
export type OutputOf<C extends Contract> = z.input<C['output']>;

interface ContractDefinition<Name extends string, Input extends z.ZodType, Output extends z.ZodType> {
  readonly name: Name;
  readonly group?: string;
  readonly summary: string;
  readonly input: Input;
  readonly output: Output;
  readonly errors?: readonly FarmErrorCode[];
  readonly positional?: readonly string[];
}

/** States a contract; the group is the name up to the first underscore unless it is given. */
export function contract<Name extends string, Input extends z.ZodType, Output extends z.ZodType>(
  definition: ContractDefinition<Name, Input, Output>,
): Contract<Name, Input, Output> {
  const { name, group = name.split('_')[0] ?? name, errors = [], positional = [], ...rest } = definition;
  return { name, group, errors, positional, ...rest };
}
