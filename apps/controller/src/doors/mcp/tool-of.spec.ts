import { describe, expect, it } from '@jest/globals';
import { operations } from '../../operations/catalogue.js';
import { toolOf } from './tool-of.js';

const tools = operations
  .filter(({ access }) => access.catalogue !== 'member')
  .map((operation) => ({
    operation,
    ...toolOf(operation).tool,
  }));

describe('a tool', () => {
  it('A8.9 tells by class and definition what it does, and whether its answers bring text from outside', () => {
    const hints = Object.fromEntries(tools.map(({ name, annotations = {} }) => [name, annotations]));
    expect(hints).toMatchObject({
      status: { readOnlyHint: true, openWorldHint: true },
      task_get: { readOnlyHint: true, openWorldHint: true },
      task_control: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
      task_start: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
      job_claim: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
      job_complete: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    });
    for (const { operation, annotations } of tools)
      expect([operation.name, annotations?.readOnlyHint]).toEqual([operation.name, operation.access.class === 'read']);
  });

  it('A8.4 takes and answers what the operation does, under the same schemas', () => {
    for (const { operation, inputSchema, outputSchema } of tools) {
      const { properties, ...rest } = operation.inputSchema;
      expect(inputSchema).toMatchObject({ ...rest, properties });
      const isMutation = operation.access.class === 'mutate';
      expect(Object.hasOwn(inputSchema.properties ?? {}, 'confirmation_token')).toBe(isMutation);
      const { $schema, $defs, ...result } = operation.outputSchema;
      expect(outputSchema).toMatchObject({ $schema, properties: { result } });
      expect(outputSchema?.$defs).toEqual($defs);
    }
  });
});
