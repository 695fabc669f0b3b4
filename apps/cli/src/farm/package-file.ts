import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A file of this package by its path from the package's root; the built code lies deeper than its source. */
export function packageFile(path: string): string {
  for (let folder = import.meta.dirname; folder !== dirname(folder); folder = dirname(folder)) {
    if (existsSync(join(folder, 'package.json'))) return join(folder, path);
  }
  return path;
}

/** Where Node keeps what it has compiled of our programs, so that they start sooner the next time; it goes on without, where it may not write there. */
export function compiledFolder(): string {
  return packageFile('node_modules/.cache/longshore');
}
