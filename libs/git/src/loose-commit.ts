import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { type Oid, oidOf } from './oid.js';

/**
 * Writes a commit as git would, without a git process: into a quarantine, from where git itself packs it and so reads what was
 * written. It is not made to last there.
 */
export async function writeLooseCommit(objects: string, text: string): Promise<Oid> {
  const body = Buffer.from(text);
  const object = Buffer.concat([Buffer.from(`commit ${body.length}\0`), body]);
  const oid = oidOf(createHash('sha1').update(object).digest('hex'));
  const folder = join(objects, oid.slice(0, 2));
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, oid.slice(2)), deflateSync(object));
  return oid;
}
