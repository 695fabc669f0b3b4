import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FarmError } from '#contracts';
import { startGitLoop } from './git.js';
import { type GitLimits, gitLimits } from './git-limits.js';

/**
 * Git, many times, from one small shell: to start a process from ours stops the event loop for milliseconds, each time, and a
 * shell does it in one. Memory and time are limited for each git; between them it waits as long as it must.
 */
export interface GitLoop {
  /**
   * Runs git and answers whatever it ended with. One at a time.
   *
   * @param args without white space
   * @throws as `git`; `too_large`
   */
  run(args: readonly string[], input?: string | Uint8Array): Promise<LoopAnswer>;
  /** Throws as `git`. */
  end(): Promise<void>;
}

interface LoopAnswer {
  readonly exitCode: number;
  readonly stdout: Buffer;
}

interface LoopCall {
  readonly gitDir: string;
  /** Where its inputs may lie, and what relative paths in arguments stand against; who gave it removes it. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly limits?: Partial<GitLimits> | undefined;
}

const ending = Buffer.from('\0\0\0');

/** Nothing that it writes is made to last, but where an argument says so. */
export function openGitLoop({ gitDir, folder, env, limits }: LoopCall): GitLoop {
  const { stdin, stdout, timed, ended } = startGitLoop({
    ...{ gitDir, env, cwd: folder, durable: false },
    ...(limits === undefined ? {} : { limits }),
  });
  // one that has ended takes no more lines: how it ended tells why
  stdin.on('error', () => undefined);
  const chunks: AsyncIterator<Uint8Array> = stdout[Symbol.asyncIterator]();
  const most = gitLimits(limits).gitOutputBytes;
  const readAnswer = async (name = ''): Promise<Buffer> => {
    let said = Buffer.alloc(0);
    while (!said.subarray(-ending.length).equals(ending)) {
      const { value, done } = await chunks.next();
      if (done === true) {
        const cause = new Error(await ended());
        throw new FarmError('internal', `git ${name} gave no answer.`, { cause });
      }
      said = Buffer.concat([said, value]);
      if (said.length > most) throw new FarmError('too_large', `git ${name} answered more than its limit.`);
    }
    return said;
  };
  return {
    async run(args, input) {
      if (args.some((arg) => /\s/.test(arg))) throw new Error('an argument with white space');
      if (input !== undefined) await writeFile(join(folder, 'input'), input);
      stdin.write(`${input === undefined ? '/dev/null' : 'input'} ${args.join(' ')}\n`);
      const said = await timed(() => readAnswer(args[0]));
      const [, exitCode = ''] = /(\d+)\0\0\0$/.exec(said.toString('latin1')) ?? [];
      return { exitCode: Number(exitCode), stdout: said.subarray(0, -(exitCode.length + ending.length)) };
    },
    async end() {
      stdin.end();
      await chunks.return?.();
      await ended();
    },
  };
}
