import { z } from 'zod';
import { sandboxPairs, WorkflowDocument } from './workflow-document.js';

/** Where a farm serves it, to anybody: editors fetch it without a credential. */
export const workflowSchemaPath = '/v1/workflow.schema.json';

type JsonSchema = Record<string, unknown>;

/**
 * The JSON Schema of a workflow document, for editors: draft 7, which all of them know. It says what each field is for; limits of the
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
  const texts = { ...shared, ...('lead' in properties ? ofWorkflow : {}) };
  for (const [name, property] of Object.entries(properties)) {
    const text = texts[name];
    // Beside a $ref, draft 7 hears nothing else.
    if (text !== undefined && typeof property === 'object' && property.$ref === undefined) property.description = text;
  }
  if ('human_request' in properties) schema.minProperties = 1;
  if ('mode' in properties && 'network' in properties) {
    schema.anyOf = sandboxPairs.map((pair) => {
      const [mode = '', network = ''] = pair.split('/');
      return { properties: { mode: { const: mode }, network: { const: network } } };
    });
  }
}

const ofWorkflow: Readonly<Record<string, string>> = {
  id: 'Its name in the library. The same name again is the next revision.',
  description: 'What this team is for, in a line or two: for whoever chooses a workflow.',
  note: 'What every member is told.',
  lead: 'Who answers for the whole job, and the team below.',
};

const shared: Readonly<Record<string, string>> = {
  id: 'Lower-case words joined by - or _; each id stands once in a workflow.',
  title: 'A short name for people.',
  description: 'What this member answers for. Its parent reads it when it gives work out.',
  instruction: 'How this member is to work. Only the member itself is told.',
  provider: 'Which agent does the turns of this member; without it, the one that the Task or the farm names.',
  capabilities: 'What this member may ask for. What is not named is denied, and nothing is inherited.',
  children: 'The direct team. The order is for display only.',
  account: 'The provider account that does the turns.',
  model: 'The model, as the provider calls it.',
  effort: 'How much the model thinks.',
  sandbox: 'What its sessions may do. A machine that can not give it does not get the work.',
  extension_mode:
    'inherit: what the repository brings for agents is read (CLAUDE.md, AGENTS.md, skills). isolated: it is not.',
  human_request: 'The kinds of questions that it may ask people.',
  command_run: 'It may have the farm run commands, for hours if need be.',
};
