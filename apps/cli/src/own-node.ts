import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { delimiter, dirname } from 'node:path';
import { packageFile } from './farm/package-file.js';

const oldest = 24;

export function isOldNode(version: string = process.versions.node): boolean {
  return Number(version.split('.')[0]) < oldest;
}

/** Runs the same command line with the Node that came with `npm ci`, and answers its exit code (docs/decisions/0003). */
export async function runWithOwnNode(words: readonly string[]): Promise<number> {
  const node = packageFile('node_modules/node/bin/node');
  const child = spawn(node, [...words], {
    stdio: 'inherit',
    env: { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH ?? ''}` },
  });
  // Ctrl-C reaches the child by itself; what is sent to us alone is passed on, and the end is the child's to choose.
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  const failed = once(child, 'error').then(([error]) => {
    process.stderr.write(
      `longshore needs Node ${oldest}, and the one of this package does not start: ${String(error)}\n`,
    );
    return 1;
  });
  return await Promise.race([failed, once(child, 'exit').then(([code]) => (typeof code === 'number' ? code : 1))]);
}
