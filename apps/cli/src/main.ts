#!/usr/bin/env node
import module from 'node:module';
import { compiledFolder } from './farm/package-file.js';
import { isOldNode, runWithOwnNode } from './own-node.js';

// Before anything else is loaded: an older Node does not even parse some of it.
process.exitCode = isOldNode() ? await runWithOwnNode(process.argv.slice(1)) : await run();

async function run(): Promise<number> {
  module.enableCompileCache(compiledFolder());
  const { runCommandLine } = await import('./cli.js');
  const end = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => end.abort(signal));
  // `longshore … | head` closes our stdout: that is how the reader says "enough".
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
  return await runCommandLine(process.argv.slice(2), {
    env: process.env,
    // Started by `npm run`, npm has gone into our folder: where the person stands is told beside.
    cwd: (process.env.npm_package_name === 'longshore' && process.env.INIT_CWD) || process.cwd(),
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    signal: end.signal,
  });
}
