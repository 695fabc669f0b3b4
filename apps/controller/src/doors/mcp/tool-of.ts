import type { Tool } from '@modelcontextprotocol/server';
import type { Operation } from '#gate';
import { outsideStrings, type Walk } from './results/outside-strings.js';
import { resultSchemaOf } from './results/result-schema.js';

/** An operation as MCP lists it, and what its results need. */
export interface OperationTool {
  readonly tool: Tool;
  readonly walk: Walk | undefined;
}

const made = new WeakMap<Operation<never>, OperationTool>();

/** Made once per operation. */
export function toolOf(operation: Operation<never>): OperationTool {
  const known = made.get(operation);
  if (known) return known;
  const { name, summary, contract, access } = operation;
  const walk = outsideStrings(contract.output);
  const tool: Tool = {
    name,
    description: summary,
    inputSchema: inputSchemaOf(operation),
    outputSchema: { ...resultSchemaOf(contract, access.class), type: 'object' },
    annotations: annotationsOf(operation, walk !== undefined),
  };
  made.set(operation, { tool, walk });
  return { tool, walk };
}

/** Told by class and definition; clients must not trust them, and they grant nothing (A8.9). */
function annotationsOf({ access }: Operation<never>, openWorldHint: boolean): Tool['annotations'] {
  if (access.class === 'read') return { readOnlyHint: true, openWorldHint };
  return {
    readOnlyHint: false,
    destructiveHint: access.destructive,
    idempotentHint: access.idempotent,
    openWorldHint,
  };
}

/** An agent's mutation is called twice: the second time with the token of its proposal (A6.6). */
function inputSchemaOf({ access, inputSchema }: Operation<never>): Tool['inputSchema'] {
  if (access.class !== 'mutate') return { ...inputSchema, type: 'object' };
  const given = typeof inputSchema.properties === 'object' ? inputSchema.properties : {};
  return { ...inputSchema, type: 'object', properties: { ...given, [confirmationField]: confirmationToken } };
}

export const confirmationField = 'confirmation_token';

const confirmationToken = {
  type: 'string',
  maxLength: 128,
  description: 'From the proposal that the same call without it answered. Single use, for the same input only.',
};
