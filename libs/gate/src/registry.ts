import { DefinitionError } from './definition/definition-error.js';
import { cliPathOf } from './definition/names.js';
import type { Operation } from './operation.js';

/** All operations of a process, by name. */
export interface Registry<Services> {
  find(name: string): Operation<Services> | undefined;
  readonly all: readonly Operation<Services>[];
}

/** Errors: DefinitionError when two operations have one name or one place in the command line (A2.9). */
export function registryOf<Services>(operations: readonly Operation<Services>[]): Registry<Services> {
  const byName = new Map<string, Operation<Services>>();
  const byPath = new Map<string, string>();
  for (const operation of operations) {
    const { name, group } = operation;
    if (byName.has(name)) throw new DefinitionError('name_taken', name, 'the name is taken');
    const path = cliPathOf(name, group).join(' ');
    const other = byPath.get(path);
    if (other !== undefined)
      throw new DefinitionError('cli_path_taken', name, `"${path}" in the command line is ${other}`);
    byName.set(name, operation);
    byPath.set(path, name);
  }
  const all = [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  return { find: (name) => byName.get(name), all };
}
