import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A file of this package by its path from the package's root; the built code lies deeper than its source. */
export function packageFile(path: string): string {
  for (let folder = import.meta.dirname; folder !== dirname(folder); folder = dirname(folder)) {
    if (existsSync(join(folder, 'package.json'))) return join(folder, path);
  }
  return path;
}
