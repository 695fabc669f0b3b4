import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { FarmError } from '#contracts';
import type { Surroundings } from '../output/screen.js';

/** The text of a file that the person names, or of stdin for `-`. FarmError invalid_input when it can not be read. */
export async function readNamedText(name: string, { stdin, cwd }: Surroundings): Promise<string> {
  if (name === '-') return await text(stdin);
  return await readFile(resolve(cwd, name), 'utf8').catch((cause: unknown) => {
    throw new FarmError('invalid_input', `The file ${name} can not be read.`, { cause });
  });
}

/** The JSON document of `--input`; undefined when it was not given. FarmError invalid_input. */
export async function readDocument(name: unknown, surroundings: Surroundings): Promise<unknown> {
  if (typeof name !== 'string') return undefined;
  const content = await readNamedText(name, surroundings);
  try {
    return JSON.parse(content);
  } catch {
    // No cause: a parse error quotes the content.
    throw new FarmError('invalid_input', 'What --input names is not JSON.');
  }
}
