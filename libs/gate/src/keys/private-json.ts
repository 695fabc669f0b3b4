import { randomUUID } from 'node:crypto';
import { chmod, link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { z } from 'zod';
import { FarmError, systemCodeOf } from '#contracts';

/** A small file with a secret in it: 0600, whole or not there. */
export async function readPrivateJson<T>(path: string, schema: z.ZodType<T>): Promise<T | undefined> {
  const text = await readOrNothing(path);
  if (text === undefined) return undefined;
  const read = schema.safeParse(parseOrNothing(text));
  if (read.success) return read.data;
  // Never the content: it is a secret, whatever is wrong with it.
  throw new FarmError('misconfigured', `The file ${path} does not hold what it should`, {
    hint: 'Put it back from a copy. Without it every machine has to join again.',
  });
}

/** Creates it once: of several processes that start together one wins, and all read what that one wrote. */
export async function createPrivateJson<T>(path: string, schema: z.ZodType<T>, make: () => T): Promise<T> {
  const known = await readPrivateJson(path, schema);
  if (known !== undefined) return known;
  const part = await writePart(path, make());
  try {
    await link(part, path);
  } catch (error) {
    if (systemCodeOf(error) !== 'EEXIST') throw error;
  } finally {
    await rm(part, { force: true });
  }
  const written = await readPrivateJson(path, schema);
  if (written === undefined) throw new FarmError('misconfigured', `The file ${path} was removed while it was made`);
  return written;
}

export async function replacePrivateJson(path: string, value: unknown): Promise<void> {
  await rename(await writePart(path, value), path);
}

async function writePart(path: string, value: unknown): Promise<string> {
  const folder = dirname(path);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const part = `${path}.${randomUUID()}`;
  await writeFile(part, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600, flag: 'wx', flush: true });
  await chmod(part, 0o600);
  return part;
}

async function readOrNothing(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function parseOrNothing(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
