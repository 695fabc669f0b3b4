import { z } from 'zod';
import type { Contract } from '#contracts';
import type { Access } from '../operation.js';
import { DefinitionError, type DefinitionFault } from './definition-error.js';
import { isPluginOperation, operationName, protocolNames, reservedFields } from './names.js';

const classes: readonly string[] = ['read', 'mutate', 'protocol', 'send'];

/** Throws a DefinitionError at the first rule of A2 that the definition breaks. */
export function checkDefinition(contract: Contract, access: Access, hasPreview: boolean): void {
  const { name, group, input } = contract;
  const refuse = (fault: DefinitionFault, why: string): never => {
    throw new DefinitionError(fault, name, why);
  };

  const { plugin } = access;
  if (plugin === undefined) {
    if (!operationName.test(name))
      refuse('bad_name', 'words of lower case joined by underscores, 64 characters at most');
    if (name !== group && !name.startsWith(`${group}_`)) refuse('group_not_prefix', `its name begins with "${group}_"`);
  } else {
    if (!isPluginOperation(name, plugin))
      refuse('bad_name', 'the name of its plugin, a dot, and words joined by underscores, 64 characters at most');
    if (group !== plugin) refuse('group_not_prefix', 'its group is its plugin');
    // A plugin is a stranger's: a person turns on what agents may have of it (A2.5).
    if (access.ceiling === 'on')
      refuse('plugin_on_by_default', 'an operation of a plugin is off until it is turned on');
  }
  if (!classes.includes(access.class)) refuse('class_missing', 'its class is read, mutate, protocol or send');

  const agentsReachIt = access.ceiling !== 'never';
  if (access.class === 'send' && agentsReachIt) refuse('send_over_mcp', 'class send has the ceiling never');
  if (access.class === 'mutate' && agentsReachIt && !hasPreview)
    refuse('mutate_without_preview', 'an agent that can reach it must be told its effect');

  if (access.approval !== undefined && access.class !== 'mutate')
    refuse('approval_without_mutation', 'only a mutation waits for a person');

  if (access.class === 'protocol' && !protocolNames.has(name))
    refuse('protocol_not_listed', 'class protocol is for the job and member operations');
  if (access.class === 'protocol' && access.audit !== 'always')
    refuse('protocol_not_audited', 'class protocol is always audited');
  const isNodeCatalogue = access.catalogue === 'job' || access.catalogue === 'member';
  if (isNodeCatalogue !== (access.class === 'protocol'))
    refuse('catalogue_class', 'the job and member catalogues hold class protocol, and nothing else does');

  const fields = strictFieldsOf(input);
  if (fields === undefined) refuse('input_not_strict', 'the root is z.strictObject');
  const reserved = fields?.find((field) => reservedFields.has(field));
  if (reserved !== undefined) refuse('reserved_field', `"${reserved}" belongs to the envelope`);
}

/** A plain z.object drops unknown keys silently: `confirm` would seem to be taken (A2.6). */
function strictFieldsOf(input: z.ZodType): readonly string[] | undefined {
  if (!(input instanceof z.ZodObject) || !(input.def.catchall instanceof z.ZodNever)) return undefined;
  return Object.keys(input.shape);
}
