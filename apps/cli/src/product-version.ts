import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { packageFile } from './farm/package-file.js';

const Package = z.looseObject({ version: z.string() });

export function productVersion(): string {
  return Package.parse(JSON.parse(readFileSync(packageFile('package.json'), 'utf8'))).version;
}
