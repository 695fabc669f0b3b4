import { z } from 'zod';
import { FarmError } from '#contracts';
import type { ReadOutcome, Rule } from './operation.js';

interface Schemas<Input extends z.ZodType, Output extends z.ZodType> {
  readonly input: Input;
  readonly output: Output;
}

/** Parses an input once and binds the rule to it, so that nothing past here handles an unknown value. */
export function readInput<Services, Input extends z.ZodType, Output extends z.ZodType, Prepared>(
  schemas: Schemas<Input, Output>,
  rule: Rule<Services, z.output<Input>, z.input<Output>, Prepared>,
  given: unknown,
): ReadOutcome<Services> {
  const parsed = z.safeParse(schemas.input, given);
  if (!parsed.success) return { ok: false, issues: parsed.error.issues };
  const input = parsed.data;
  const { preview } = rule;
  return {
    ok: true,
    read: {
      value: input,
      ...(preview && { preview: (call, tx) => preview(input, call, tx) }),
      async prepare(call) {
        const prepared: unknown = await rule.prepare?.(input, call);
        if (!isPrepared(rule, prepared)) throw new TypeError('a rule without prepare takes nothing prepared');
        return async (tx) => {
          const output = await rule.run(input, prepared, call, tx);
          return { output: checkOutput(schemas.output, output), wait: rule.waits?.(input, output, call) };
        };
      },
    },
  };
}

/** What `prepare` answered is what `run` takes; without it `run` takes nothing. The compiler can not tie the two. */
function isPrepared<Services, Input, Output, Prepared>(
  rule: Rule<Services, Input, Output, Prepared>,
  prepared: unknown,
): prepared is Prepared {
  return rule.prepare !== undefined || prepared === undefined;
}

/** What leaves the farm fits the contract, or the transaction is rolled back; never the value in the error (A7.2, A7.3). */
function checkOutput(schema: z.ZodType, output: unknown): unknown {
  const checked = schema.safeParse(output);
  if (checked.success) return checked.data;
  throw new FarmError('invalid_output', undefined, { cause: checked.error });
}
