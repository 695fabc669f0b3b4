import { z } from 'zod';
import { sandboxPairs, WorkflowDocument } from './workflow-document.js';

/** Where a farm serves it, to anybody: editors fetch it without a credential. */
export const workflowSchemaPath = '/v1/workflow.schema.json';

type JsonSchema = Record<string, unknown>;

/**
 * The JSON Schema of a workflow document, for editors: draft 7, which all of them know. Limits of the
 * whole tree and twin ids only an import can find.
 */
export function workflowSchema(): JsonSchema {
  const { '~standard': _, ...schema } = z.toJSONSchema(WorkflowDocument, {
    io: 'input',
    target: 'draft-7',
    override: ({ jsonSchema }) => explain(jsonSchema),
  });
  return { ...schema, title: 'Longshore workflow' };
}

function explain(schema: z.core.JSONSchema.BaseSchema): void {
  const { properties } = schema;
  if (properties === undefined) return;
  if ('human_request' in properties) schema.minProperties = 1;
  if ('mode' in properties && 'network' in properties) {
    schema.anyOf = sandboxPairs.map((pair) => {
      const [mode = '', network = ''] = pair.split('/');
      return { properties: { mode: { const: mode }, network: { const: network } } };
    });
  }
}
