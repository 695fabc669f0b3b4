import type { Command } from 'commander';
import { z } from 'zod';
import { type Contract, contract } from '#contracts';
import { openFarmClient } from '../client/open-farm-client.js';
import { addEntry } from './add-catalogue.js';
import type { Frame } from './frame.js';

const Listing = z.looseObject({
  operations: z.array(
    z.looseObject({
      name: z.string(),
      group: z.string(),
      summary: z.string(),
      class: z.string(),
      input_schema: z.record(z.string(), z.unknown()),
    }),
  ),
});
type Listed = z.output<typeof Listing>['operations'][number];

/**
 * Commands of a plugin: only its farm knows them, and it is asked only where the first word is none of ours. A farm that does not
 * answer has none, and the word is unknown.
 */
export async function addPluginCommands(program: Command, frame: Frame, words: readonly string[]): Promise<void> {
  const [first] = words;
  if (first === undefined || !/^[a-z][a-z0-9-]*$/.test(first)) return;
  if (program.commands.some((command) => command.name() === first)) return;
  const group = first.replaceAll('-', '_');
  for (const listed of await listedOf(frame, words)) {
    if (listed.group !== group || !listed.name.startsWith(`${group}.`)) continue;
    addEntry(program, frame, { contract: contractOf(listed), changes: listed.class === 'mutate' });
  }
}

async function listedOf({ surroundings }: Frame, words: readonly string[]): Promise<readonly Listed[]> {
  const at = words.indexOf('--data');
  const data = at === -1 ? undefined : words[at + 1];
  const client = await openFarmClient(surroundings.env, data).catch(() => undefined);
  try {
    return Listing.parse(await client?.listing(surroundings.signal)).operations;
  } catch {
    return [];
  } finally {
    await client?.close();
  }
}

/** What it answers is shown as it comes: the farm has checked it. */
function contractOf({ name, group, summary, input_schema }: Listed): Contract {
  return contract({ name, group, summary, input: z.fromJSONSchema(input_schema), output: z.unknown() });
}
