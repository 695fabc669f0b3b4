import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { contract } from '#contracts';
import { type Access, operationFor } from '../operation.js';
import { registryOf } from '../registry.js';
import { DefinitionError, type DefinitionFault } from './definition-error.js';
import { cliPathOf, protocolNames } from './names.js';

const operation = operationFor<object>();
const read: Access = { catalogue: 'operator', class: 'read', ceiling: 'on' };
const mutate: Access = { catalogue: 'operator', class: 'mutate', ceiling: 'never' };
const nothing = z.strictObject({});
const run = async () => ({});

interface Given {
  readonly name?: string;
  readonly group?: string;
  readonly input?: z.ZodType;
  readonly output?: z.ZodType;
  readonly access?: Access;
  readonly previews?: boolean;
}

function define({ name = 'label_set', group, input = nothing, output = nothing, access = read, previews }: Given) {
  return operation(
    contract({ name, summary: 'For a test.', input, output, ...(group !== undefined && { group }) }),
    access,
    {
      run,
      ...(previews && { preview: async () => ({ summary: '', changes: [] }) }),
    },
  );
}

function faultOf(given: Given): DefinitionFault | undefined {
  try {
    define(given);
    return undefined;
  } catch (error) {
    if (error instanceof DefinitionError) return error.fault;
    throw error;
  }
}

describe('a definition is checked where it is stated', () => {
  it('A2.0 throws while the module that states it is imported', async () => {
    await expect(import('./broken-definition.fixture.js')).rejects.toThrow('bad_name');
  });

  it.each(['QueueList', 'queue-list', '_queue', 'queue_', 'queue__list', '1queue', '', 'q'.repeat(65), 'queue.list'])(
    'A2.1 refuses the name %j',
    (name) => {
      expect(faultOf({ name, group: name })).toBe('bad_name');
    },
  );

  it('A2.1 takes 64 characters of words', () => {
    expect(faultOf({ name: `q${'_q'.repeat(31)}1`, group: 'q' })).toBeUndefined();
  });

  it('A2.2 wants the group in front of the name, or to be the name', () => {
    expect(faultOf({ name: 'queue_requeue', group: 'label' })).toBe('group_not_prefix');
    expect(faultOf({ name: 'queues_list', group: 'queue' })).toBe('group_not_prefix');
    expect(faultOf({ name: 'status', group: 'status' })).toBeUndefined();
  });

  it('A2.3 refuses a send that could be offered over MCP', () => {
    const send = (ceiling: Access['ceiling']) => faultOf({ access: { ...mutate, class: 'send', ceiling } });
    expect([send('off'), send('on'), send('never')]).toEqual(['send_over_mcp', 'send_over_mcp', undefined]);
  });

  it('A2.4 refuses a mutation that an agent can reach and that can not say what it would do', () => {
    const reach = (ceiling: Access['ceiling'], previews: boolean) =>
      faultOf({ access: { ...mutate, ceiling }, previews });
    expect([reach('off', false), reach('on', false)]).toEqual(['mutate_without_preview', 'mutate_without_preview']);
    expect([reach('never', false), reach('off', true)]).toEqual([undefined, undefined]);
  });

  it('A2.5 refuses an operation of a plugin that would be offered before anybody turned it on', () => {
    const ofPlugin = (ceiling: Access['ceiling'], name = 'mail.fetch_new') =>
      faultOf({ name, group: 'mail', access: { ...read, ceiling, plugin: 'mail' } });
    expect([ofPlugin('on'), ofPlugin('off'), ofPlugin('never')]).toEqual([
      'plugin_on_by_default',
      undefined,
      undefined,
    ]);
    expect(
      ['fetch_new', 'mail.', 'other.fetch', 'mail.Fetch', `mail.${'x'.repeat(60)}`].map((name) =>
        ofPlugin('off', name),
      ),
    ).toEqual(Array(5).fill('bad_name'));
    expect(faultOf({ name: 'mail.fetch', group: 'fetch', access: { ...read, ceiling: 'off', plugin: 'mail' } })).toBe(
      'group_not_prefix',
    );
  });

  it('lets only a mutation wait for a person', () => {
    expect(faultOf({ access: { ...read, approval: 'person' } })).toBe('approval_without_mutation');
    expect(faultOf({ access: { ...mutate, approval: 'person' } })).toBeUndefined();
  });

  it('A2.6 wants a strict object at the root of the input', () => {
    expect(faultOf({ input: z.object({ a: z.string() }) })).toBe('input_not_strict');
    expect(faultOf({ input: z.looseObject({}) })).toBe('input_not_strict');
    expect(faultOf({ input: z.record(z.string(), z.string()) })).toBe('input_not_strict');
  });

  it.each(['confirm', 'confirmation_token', 'idempotency_key', 'door', 'agent_id', 'actor'])(
    'A2.7 refuses an input with the field %s',
    (field) => {
      expect(faultOf({ input: z.strictObject({ [field]: z.string().optional() }) })).toBe('reserved_field');
    },
  );

  it('A2.8 refuses schemas that JSON Schema can not say', () => {
    expect(faultOf({ output: z.strictObject({ at: z.date() }) })).toBe('unrepresentable_schema');
    expect(faultOf({ input: z.strictObject({ at: z.bigint() }) })).toBe('unrepresentable_schema');
  });

  it('A2.9 refuses a second operation of a name or of a place in the command line', () => {
    const twice = () => registryOf([define({ name: 'mail_sync' }), define({ name: 'mail_sync' })]);
    expect(twice).toThrow('name_taken');
    const ofPlugin = { ...define({ name: 'mail_sync' }), name: 'mail.sync' };
    expect(() => registryOf([define({ name: 'mail_sync' }), ofPlugin])).toThrow('cli_path_taken');
    expect(cliPathOf('queue_requeue_all', 'queue')).toEqual(['queue', 'requeue-all']);
    expect(cliPathOf('status', 'status')).toEqual(['status']);
  });

  it('A2.10 allows class protocol to the closed list alone, and always audited', () => {
    const protocol: Access = { catalogue: 'job', class: 'protocol', ceiling: 'on', audit: 'always' };
    expect(faultOf({ name: 'report_export', access: protocol })).toBe('protocol_not_listed');
    const { audit: _, ...unaudited } = protocol;
    expect(faultOf({ name: 'job_claim', access: unaudited })).toBe('protocol_not_audited');
    expect(faultOf({ name: 'job_claim', access: protocol })).toBeUndefined();
    expect(faultOf({ name: 'job_claim', access: { ...protocol, catalogue: 'operator' } })).toBe('catalogue_class');
    expect(protocolNames.has('job_submit')).toBe(false);
  });

  it('A5.13 refuses a class that is none', () => {
    // A definition may come from JavaScript, where nobody checked its type.
    const access: Access = JSON.parse('{"catalogue":"operator","ceiling":"never"}');
    expect(faultOf({ access })).toBe('class_missing');
  });
});

describe('the JSON Schemas of an operation', () => {
  const schemas = define({
    input: z.strictObject({
      limit: z.int().default(50),
      at: z.iso.datetime().optional(),
      nested: z.strictObject({ a: z.string() }).optional(),
    }),
  });

  it('S2.1 let a field with a default be left out of the input', () => {
    expect(schemas.inputSchema).not.toHaveProperty('required');
  });

  it('S2.2 forbid unknown keys, at the root and below', () => {
    expect(schemas.inputSchema).toMatchObject({
      additionalProperties: false,
      properties: { nested: { additionalProperties: false } },
    });
  });

  it('S2.3 name the 2020-12 dialect', () => {
    const dialect = 'https://json-schema.org/draft/2020-12/schema';
    expect([schemas.inputSchema.$schema, schemas.outputSchema.$schema]).toEqual([dialect, dialect]);
  });

  it('S2.4 bound integers to what JSON can carry, and name the format of times', () => {
    expect(schemas.inputSchema).toMatchObject({
      properties: {
        limit: { type: 'integer', maximum: Number.MAX_SAFE_INTEGER, minimum: Number.MIN_SAFE_INTEGER },
        at: { type: 'string', format: 'date-time' },
      },
    });
  });
});
