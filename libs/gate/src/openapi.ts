import { errorCodes, type FarmErrorCode } from '#contracts';
import type { JsonSchema } from './definition/json-schema.js';
import type { Operation } from './operation.js';

const dialect = 'https://json-schema.org/draft/2020-12/schema';

/** What any call may get beside the operation's own errors. */
const common: readonly FarmErrorCode[] = [
  'invalid_input',
  'unauthenticated',
  'not_available',
  'not_allowed',
  'too_large',
  'too_many_requests',
  'internal',
];

const ofMutations: readonly FarmErrorCode[] = [
  'confirmation_required',
  'idempotency_key_invalid',
  'idempotency_mismatch',
];

/** OpenAPI 3.1 of these operations: zod's schemas unchanged, in the 2020-12 dialect (S3.1). */
export function openApiOf(operations: readonly Operation<never>[], version: string) {
  return {
    openapi: '3.1.0',
    info: { title: 'Longshore', version },
    jsonSchemaDialect: dialect,
    paths: Object.fromEntries(operations.map((operation) => [`/v1/operations/${operation.name}`, pathOf(operation)])),
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
      schemas: { Problem: problemSchema },
    },
    security: [{ bearer: [] }],
  };
}

function pathOf({ name, group, summary, access, contract, inputSchema, outputSchema }: Operation<never>) {
  const codes = [...common, ...contract.errors, ...(access.class === 'mutate' ? ofMutations : [])];
  return {
    post: {
      operationId: name,
      summary,
      tags: [group],
      parameters: access.class === 'mutate' ? [idempotencyKey] : [],
      requestBody: {
        required: true,
        content: json(envelope('input', embedded(name, 'input', inputSchema), access.class === 'mutate')),
      },
      responses: {
        200: {
          description: 'What it answered',
          content: json(envelope('result', embedded(name, 'result', outputSchema), false)),
        },
        ...Object.fromEntries(statusesOf(codes).map(([status, titles]) => [status, problemResponse(titles)])),
      },
    },
  };
}

function statusesOf(codes: readonly FarmErrorCode[]): readonly (readonly [number, readonly string[]])[] {
  const byStatus = Map.groupBy(new Set(codes), (code) => errorCodes[code].status);
  return [...byStatus].map(([status, found]) => [status, found.map((code) => `${code}: ${errorCodes[code].title}`)]);
}

/** A schema that refers to parts of itself needs a name of its own here: its references would else start at the document's root. */
function embedded(name: string, member: string, schema: JsonSchema): JsonSchema {
  return '$defs' in schema ? { $id: `urn:longshore:schema:${name}:${member}`, ...schema } : schema;
}

function envelope(member: string, schema: unknown, mayConfirm: boolean) {
  return {
    type: 'object',
    properties: { [member]: schema, ...(mayConfirm && { confirm: { type: 'boolean' } }) },
    required: [member],
    additionalProperties: false,
  };
}

const json = (schema: unknown) => ({ 'application/json': { schema } });

const problemResponse = (titles: readonly string[]) => ({
  description: titles.join('; '),
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
});

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'The same key with the same input is answered and not done again.',
  schema: { type: 'string', maxLength: 255 },
};

/** RFC 9457. */
const problemSchema = {
  type: 'object',
  properties: {
    type: { type: 'string', format: 'uri-reference', description: 'Leads to what the code means.' },
    title: { type: 'string', description: 'Constant per type.' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    instance: { type: 'string', format: 'uri', description: 'Of this one call.' },
    code: { type: 'string', enum: Object.keys(errorCodes) },
    fields: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          path: { type: 'string', format: 'json-pointer' },
          rule: { type: 'string' },
          count: { type: 'integer' },
        },
        required: ['path', 'rule'],
      },
    },
    hint: { type: 'string', description: 'The way out.' },
    retry_after_ms: { type: 'integer' },
    proposal: { type: 'object', description: 'What an unconfirmed mutation would do.' },
  },
  required: ['type', 'title', 'status', 'code'],
};
