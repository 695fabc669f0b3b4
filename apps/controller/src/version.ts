import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

const Package = z.object({ name: z.string(), version: z.string() });

/** Of the package that this file belongs to, from the sources and from the build. */
export const version = readVersion(dirname(fileURLToPath(import.meta.url)));

function readVersion(folder: string): string {
  const found = readPackage(join(folder, 'package.json'));
  if (found?.name === 'longshore') return found.version;
  const above = dirname(folder);
  return above === folder ? 'unknown' : readVersion(above);
}

function readPackage(path: string): z.output<typeof Package> | undefined {
  try {
    return Package.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    return undefined;
  }
}
