import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { FarmError, systemCodeOf } from '#contracts';
import type { Surroundings } from '../output/screen.js';

/** The text of a file that the person names, or of stdin for `-`. FarmError invalid_input when it can not be read or is no text. */
export async function readNamedText(name: string, { stdin, cwd }: Surroundings): Promise<string> {
  const content = name === '-' ? await buffer(stdin) : await readNamed(name, cwd);
  if (isUtf8(content) && !content.includes(0)) return content.toString('utf8');
  throw new FarmError(
    'invalid_input',
    `${name === '-' ? 'What came by stdin' : `The file ${name}`} is not UTF-8 text.`,
  );
}

async function readNamed(name: string, cwd: string): Promise<Buffer> {
  return await readFile(resolve(cwd, name)).catch((cause: unknown) => {
    throw new FarmError('invalid_input', `The file ${name} can not be read: ${reasonOf(cause)}.`, { cause });
  });
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist',
  EISDIR: 'it is a folder',
  EACCES: 'you may not read it',
};

function reasonOf(cause: unknown): string {
  const code = systemCodeOf(cause) ?? '';
  return reasons[code] ?? code;
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
