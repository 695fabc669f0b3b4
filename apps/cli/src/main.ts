#!/usr/bin/env node
import { runCommandLine } from './cli.js';

const end = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => end.abort(signal));
// `longshore … | head` closes our stdout: that is how the reader says "enough".
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

process.exitCode = await runCommandLine(process.argv.slice(2), {
  env: process.env,
  cwd: process.cwd(),
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  signal: end.signal,
});
