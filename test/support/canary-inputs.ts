import fc from 'fast-check';

type Schema = Readonly<Record<string, unknown>>;

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const listOf = (value: unknown): readonly Schema[] => (Array.isArray(value) ? value.filter(isSchema) : []);

/** Turns a field of the input to the canary: at this one only, or at all. */
type Which = number | 'all';

/**
 * Inputs of an operation with a canary in them: one that has it in every field, whatever the field wants; one that has it in every
 * field that takes any text; and for each text field one that has it there alone, beside values that fit.
 */
export function canaryInputs(schema: Schema, canary: string): readonly unknown[] {
  const counting = new Filling(schema, canary, -1, true);
  counting.fill(schema);
  const alone = Array.from({ length: counting.texts }, (_, n) => new Filling(schema, canary, n, true).fill(schema));
  const everywhere = new Filling(schema, canary, 'all', true).fill(schema);
  const whole = isSchema(everywhere) ? { ...everywhere, [canary]: canary } : everywhere;
  return [whole, new Filling(schema, canary, 'all', false).fill(schema), ...alone];
}

class Filling {
  /** Text fields that were met. */
  texts = 0;

  constructor(
    private readonly root: Schema,
    private readonly canary: string,
    private readonly which: Which,
    /** Also where it does not fit. */
    private readonly forced: boolean,
  ) {}

  fill(schema: Schema, depth = 0): unknown {
    if (depth > 12) return this.canary;
    const own = this.resolve(schema);
    const [variant] = [...listOf(own.anyOf), ...listOf(own.oneOf)].toSorted((a, b) => rankOf(b) - rankOf(a));
    if (variant) return this.fill({ ...own, anyOf: undefined, oneOf: undefined, ...this.resolve(variant) }, depth + 1);
    if (own.const !== undefined) return own.const;
    if (own.type === 'object' || isSchema(own.properties)) return this.fillObject(own, depth);
    if (own.type === 'array') return isSchema(own.items) ? [this.fill(own.items, depth + 1)] : [];
    if (own.type === 'number' || own.type === 'integer') return this.other(own.minimum ?? own.default ?? 1);
    if (own.type === 'boolean') return this.other(own.default ?? false);
    if (own.type === 'null') return null;
    return this.text(own);
  }

  private fillObject(own: Schema, depth: number): unknown {
    const given = isSchema(own.properties) ? Object.entries(own.properties) : [];
    const filled = given.flatMap(([name, inner]) => (isSchema(inner) ? [[name, this.fill(inner, depth + 1)]] : []));
    const more = isSchema(own.additionalProperties)
      ? [[this.canary, this.fill(own.additionalProperties, depth + 1)]]
      : [];
    return Object.fromEntries([...filled, ...more]);
  }

  /** No text belongs here. */
  private other(fits: unknown): unknown {
    return this.which === 'all' && this.forced ? this.canary : fits;
  }

  private text(own: Schema): unknown {
    const number = this.texts;
    this.texts += 1;
    const fits = textThatFits(own, this.canary);
    const isOurs = this.which === 'all' || this.which === number;
    return isOurs && (this.forced || !hasForm(own)) ? this.canary : fits;
  }

  private resolve(schema: Schema): Schema {
    if (typeof schema.$ref !== 'string') return schema;
    let found: unknown = this.root;
    for (const part of schema.$ref.split('/').slice(1)) found = isSchema(found) ? found[part] : undefined;
    return isSchema(found) ? found : {};
  }
}

const hasForm = ({ pattern, format, enum: members }: Schema): boolean =>
  pattern !== undefined || format !== undefined || members !== undefined;

/** The variant with most to fill. */
const rankOf = ({ type, properties, pattern, format }: Schema): number =>
  isSchema(properties) ? 3 : type === 'string' ? (pattern === undefined && format === undefined ? 2 : 1) : 0;

function textThatFits({ enum: members, pattern, format, minLength }: Schema, canary: string): unknown {
  if (Array.isArray(members)) return members[0];
  if (format === 'uuid') return '019a0000-0000-7000-8000-000000000000';
  if (format === 'date-time') return '2030-01-01T00:00:00.000Z';
  if (format === 'uri') return 'https://nowhere.invalid/';
  if (typeof pattern === 'string' && !new RegExp(pattern, 'u').test(canary))
    return fc.sample(fc.stringMatching(new RegExp(pattern, 'u')), { numRuns: 1, seed: 7 })[0];
  return 'plain'.padEnd(typeof minLength === 'number' ? minLength : 0, 'n');
}
