import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { limits } from '#contracts';
import { StreamTail } from '../bounded-lines.js';

export interface CommandOutcome {
  readonly passed: boolean;
  readonly text: string;
}

/** Runs a command as an agent's shell tool would; a child that it leaves behind is not waited for. */
export async function runCommand(
  command: string | readonly string[],
  options: { readonly cwd?: string | undefined; readonly seconds?: number | undefined; readonly signal: AbortSignal },
): Promise<CommandOutcome> {
  const [file, ...args] = typeof command === 'string' ? ['/bin/sh', '-c', command] : command;
  const timeout = options.seconds === undefined ? [] : [AbortSignal.timeout(options.seconds * 1_000)];
  const child = spawn(file ?? '', args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    signal: AbortSignal.any([options.signal, ...timeout]),
    killSignal: 'SIGKILL',
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
  const output = [child.stdout, child.stderr].map((stream) => new StreamTail(stream, limits.providerTextChars / 4));
  try {
    await once(child, 'exit');
    // What it wrote last may still be in the pipe; a daemon that holds the pipe open must not hold us.
    await Promise.race([once(child, 'close'), new Promise((resolve) => setTimeout(resolve, 200))]);
  } catch (error) {
    return { passed: false, text: error instanceof Error ? error.message : 'It could not be run.' };
  }
  const ended = child.signalCode === null ? `exit ${child.exitCode}` : `ended by ${child.signalCode}`;
  return {
    passed: child.exitCode === 0,
    text: [...output.map((tail) => tail.text), ended].filter((part) => part !== '').join('\n'),
  };
}
