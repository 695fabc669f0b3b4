import { randomBytes } from 'node:crypto';
import { chmod, mkdir, open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { z } from 'zod';
import { FarmError, systemCodeOf } from '#contracts';

/** Writes a file that only its owner can read (0600), whole or not at all. */
export async function writePrivateFile(path: string, content: string): Promise<void> {
  const draft = `${path}.${randomBytes(4).toString('hex')}.new`;
  const file = await open(draft, 'wx', 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, path);
}

export async function writePrivateJson(path: string, value: unknown): Promise<void> {
  await writePrivateFile(path, `${JSON.stringify(value, null, 2)}\n`);
}

/** Reads what `writePrivateJson` wrote; undefined when there is no such file. FarmError misconfigured when it is damaged. */
export async function readPrivateJson<T>(path: string, schema: z.ZodType<T>): Promise<T | undefined> {
  const text = await readIfThere(path);
  if (text === undefined) return undefined;
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    // No cause: a parse error quotes the content, and these files hold secrets.
    throw new FarmError('misconfigured', `The file ${path} is damaged.`, {
      hint: `Put it back from a copy of ${dirname(path)}, or start with another --data.`,
    });
  }
}

/** The text of a file, or undefined when there is none. */
export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Makes a folder that only its owner can enter (0700), also when it was there with a wider mode. */
export async function makePrivateFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  await chmod(path, 0o700);
}
