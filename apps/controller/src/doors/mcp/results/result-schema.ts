import { z } from 'zod';
import { type Contract, isOutsideText, Proposal } from '#contracts';
import type { JsonSchema, OperationClass } from '#gate';

/**
 * What a tool answers, whatever comes of the call: one object with a `kind`, so that a proposal, a refusal and a result that was cut
 * fit the tool's schema, too (A8.4). Clients of 2025 want an object at the root.
 */
export function resultSchemaOf({ output }: Contract, cls: OperationClass): JsonSchema {
  const { $schema, $defs, ...result } = schemaOf(output);
  const kinds = cls === 'mutate' ? { ...always, proposal } : always;
  const own = { result: { properties: { result }, required: ['result'] }, ...kinds };
  return {
    $schema,
    type: 'object',
    properties: {
      kind: { type: 'string', enum: Object.keys(own) },
      ...notice,
      ...Object.assign({}, ...Object.values(own).map(({ properties }) => properties)),
    },
    required: ['kind'],
    additionalProperties: false,
    oneOf: Object.entries(own).map(([kind, { properties, required }]) => ({
      properties: { kind: { const: kind }, ...notAllowed(own, properties) },
      required,
    })),
    ...($defs !== undefined && { $defs }),
  };
}

/** As FarmError has it. */
const FieldFault = z.strictObject({ path: z.string(), rule: z.string(), count: z.int().optional() });

const notice = {
  notice: { type: 'string', description: 'How text from outside the farm is marked in this result.' },
};

const always = {
  cut: {
    properties: {
      text: { type: 'string', description: 'The beginning of the result as JSON text; it is not whole.' },
      kept_bytes: { type: 'integer', minimum: 0 },
      total_bytes: { type: 'integer', minimum: 0 },
    },
    required: ['text', 'kept_bytes', 'total_bytes'],
  },
  error: {
    properties: {
      code: { type: 'string' },
      detail: { type: 'string' },
      hint: { type: 'string' },
      fields: { type: 'array', items: withoutDialect(schemaOf(FieldFault)) },
      retry_after_ms: { type: 'integer' },
      receipt: { type: 'object', description: 'Of a confirmed call that was done already: what it answered then.' },
    },
    required: ['code', 'detail'],
  },
};

const proposal = { properties: { proposal: withoutDialect(schemaOf(Proposal)) }, required: ['proposal'] };

/** Members of the other kinds are absent. */
function notAllowed(kinds: Readonly<Record<string, { properties: object }>>, own: object): Record<string, false> {
  const others = Object.values(kinds).flatMap(({ properties }) => Object.keys(properties));
  return Object.fromEntries(others.filter((name) => !Object.hasOwn(own, name)).map((name) => [name, false]));
}

function schemaOf(schema: z.ZodType): z.core.JSONSchema.BaseSchema {
  const { '~standard': _, ...converted } = z.toJSONSchema(schema, {
    target: 'draft-2020-12',
    io: 'input',
    override({ zodSchema, jsonSchema }) {
      if (isOutsideText(zodSchema)) relax(jsonSchema);
    },
  });
  return converted;
}

function withoutDialect({ $schema: _, ...schema }: z.core.JSONSchema.BaseSchema): object {
  return schema;
}

/** A fence makes a string longer and other: what the contract says of its length or form holds for what stands inside. */
function relax(schema: unknown): void {
  if (typeof schema !== 'object' || schema === null) return;
  if ('type' in schema && schema.type === 'string')
    for (const rule of ['minLength', 'maxLength', 'pattern', 'format', 'enum', 'const'])
      Reflect.deleteProperty(schema, rule);
  for (const part of Object.values(schema)) relax(part);
}
