import { createHash } from 'node:crypto';
import { z } from 'zod';
import { type Contract, canonicalJson } from '#contracts';
import { DefinitionError } from './definition-error.js';

/** JSON Schema 2020-12, as zod makes it. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** The dialect is always named: zod accepts an unknown target silently and then names none (S2.3). */
const target = 'draft-2020-12';

/** Both schemas of a contract; what JSON Schema can not say throws `unrepresentable_schema` (A2.8). */
export function schemasOf(contract: Contract): { readonly inputSchema: JsonSchema; readonly outputSchema: JsonSchema } {
  return {
    // Input mode: what has a default may be left out, and the root forbids unknown keys (S2.1, S2.2).
    inputSchema: convert(contract.name, contract.input, 'input'),
    outputSchema: convert(contract.name, contract.output, 'input'),
  };
}

/** The same text for the same schema. */
export function versionOf(schema: JsonSchema): string {
  return createHash('sha256').update(canonicalJson(schema)).digest('base64url').slice(0, 16);
}

function convert(name: string, schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  try {
    const { '~standard': _, ...converted } = z.toJSONSchema(schema, { target, io });
    return converted;
  } catch (cause) {
    throw new DefinitionError('unrepresentable_schema', name, 'a schema that JSON Schema can not say', cause);
  }
}
