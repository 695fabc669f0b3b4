import { z } from 'zod';
import { FarmError } from '#contracts';
import type { Transaction } from '#store';
import type { Attempt, Call, ReadInput, ReadOutcome, Rule, SharedCall, TypedCall } from './operation.js';

interface Schemas<Input extends z.ZodType, Output extends z.ZodType> {
  readonly input: Input;
  readonly output: Output;
}

/** Parses an input once and binds the rule to it, so that nothing past here handles an unknown value. */
export class InputReader<Services, Input extends z.ZodType, Output extends z.ZodType, Prepared> {
  /** What was read, by its own type: for calls that meet again in `together`. */
  private readonly inputs = new WeakMap<ReadInput<Services>, z.output<Input>>();
  /** What the rule answered, by its own type: for who waits. */
  private readonly outputs = new WeakMap<Attempt, z.input<Output>>();

  constructor(
    private readonly schemas: Schemas<Input, Output>,
    private readonly rule: Rule<Services, z.output<Input>, z.input<Output>, Prepared>,
  ) {}

  read(given: unknown): ReadOutcome<Services> {
    const parsed = parseShallow(this.schemas.input, given);
    if (!parsed.success) return { ok: false, issues: parsed.error.issues };
    const input = parsed.data;
    const { rule } = this;
    const { preview, lock, follow } = rule;
    const read: ReadInput<Services> = {
      value: input,
      ...(lock && { lock: (call, tx) => lock(input, call, tx) }),
      ...(preview && { preview: (call, tx) => preview(input, call, tx) }),
      ...(follow && {
        follow: async (call) => {
          const output = await follow(input, call);
          return output === undefined ? undefined : checkOutput(this.schemas.output, output);
        },
      }),
      prepare: async (call) => {
        const prepared: unknown = await rule.prepare?.(input, call);
        if (!isPrepared(rule, prepared)) throw new TypeError('a rule without prepare takes nothing prepared');
        return async (tx) => this.attempt(input, await rule.run(input, prepared, call, tx), call);
      },
    };
    if (rule.together) this.inputs.set(read, input);
    return { ok: true, read };
  }

  async together(calls: readonly SharedCall<Services>[], tx: Transaction): Promise<readonly (Attempt | undefined)[]> {
    const typed = calls.map(({ read, call }): TypedCall<Services, z.output<Input>> => {
      const input = this.inputs.get(read);
      if (input === undefined) throw new TypeError('this input was read by another operation');
      return { input, call };
    });
    const outputs = (await this.rule.together?.(typed, tx)) ?? [];
    return typed.map(({ input, call }, n) => {
      const output = outputs[n];
      return output === undefined ? undefined : this.attempt(input, output, call);
    });
  }

  private attempt(input: z.output<Input>, output: z.input<Output>, call: Call<Services>): Attempt {
    const waits = this.rule.waits?.(input, output, call);
    const attempt: Attempt = {
      output: checkOutput(this.schemas.output, output),
      wait: waits && ((ride) => waits(ride && ((tx) => this.answerOf(ride(tx))))),
    };
    if (this.rule.waits) this.outputs.set(attempt, output);
    return attempt;
  }

  private async answerOf(ridden: Promise<Attempt | undefined>): Promise<z.input<Output> | undefined> {
    const attempt = await ridden;
    return attempt && this.outputs.get(attempt);
  }
}

type Parsed<Output> =
  | { readonly success: true; readonly data: Output }
  | { readonly success: false; readonly error: { readonly issues: readonly z.core.$ZodIssue[] } };

/** Schemas that name themselves follow an input down; one that is deeper than our stack does not fit (H13). */
function parseShallow<Schema extends z.ZodType>(schema: Schema, given: unknown): Parsed<z.output<Schema>> {
  try {
    return z.safeParse(schema, given);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const issue: z.core.$ZodIssue = { code: 'custom', path: [], message: '', params: { rule: 'too_deep' } };
    return { success: false, error: { issues: [issue] } };
  }
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
