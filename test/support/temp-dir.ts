import { mkdirSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { testRun } from './test-run.js';

/** An empty folder of mode 0700 that goes with the run. */
export function tempDir(name = 'dir'): string {
  const parent = join(testRun().folder, 'dirs');
  mkdirSync(parent, { recursive: true });
  return mkdtempSync(join(parent, `${name}-`));
}
