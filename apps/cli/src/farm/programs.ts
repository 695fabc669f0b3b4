import { sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const apps = `${sep}apps${sep}`;

/**
 * Another application of this package, or another entry of it: they meet as processes, never as imports. Always the built one:
 * where the caller runs from its TypeScript source (tests), the one under `dist` is meant.
 */
export function programOf(application: 'controller' | 'worker', entry?: string): string {
  const here = fileURLToPath(import.meta.url);
  const above = here.slice(0, here.lastIndexOf(apps));
  const dist = here.endsWith('.ts') ? `${above}${sep}dist` : above;
  return entry === undefined
    ? `${dist}${sep}${application}.js`
    : `${dist}${apps}${application}${sep}src${sep}${entry}.js`;
}
