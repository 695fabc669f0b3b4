import { sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const apps = `${sep}apps${sep}`;

/**
 * The built entry of another application of this package: they meet as processes, never as imports. Where the caller runs from
 * its TypeScript source (tests), the one under `dist` is meant.
 */
export function programOf(application: 'controller' | 'worker', entry = 'main'): string {
  const path = fileURLToPath(new URL(`../../../${application}/src/${entry}.js`, import.meta.url));
  if (!import.meta.url.endsWith('.ts')) return path;
  const at = path.lastIndexOf(apps);
  return `${path.slice(0, at)}${sep}dist${path.slice(at)}`;
}
