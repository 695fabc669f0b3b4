import { sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const source = `${sep}apps${sep}worker${sep}src${sep}`;

/**
 * The file of a child process, beside the module that starts it. Child processes always run compiled code: where the caller runs
 * from its TypeScript source (tests), the same file under `dist` is meant.
 */
export function childMain(importMetaUrl: string, name: `./${string}.js`): string {
  const path = fileURLToPath(new URL(name, importMetaUrl));
  if (!importMetaUrl.endsWith('.ts')) return path;
  const at = path.lastIndexOf(source);
  return `${path.slice(0, at)}${sep}dist${path.slice(at)}`;
}

/** The folder of the package that such a file belongs to. */
export function packageOf(built: string): string {
  return built.slice(0, built.lastIndexOf(`${sep}dist${sep}`));
}
