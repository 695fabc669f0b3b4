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
  /** Runs git and answers whatever it ended with. One call at a time. Throws as `git`; `too_large`. */
  run(command: LoopCommand): Promise<LoopAnswer>;
  /** Two at once; the first has no input, and nothing that it prints is answered. Throws as `run`. */
  runBoth(one: LoopCommand, other: LoopCommand): Promise<readonly [LoopAnswer, LoopAnswer]>;
  /** Talks to one git, once in the life of a loop. Nothing else runs before it has ended. */
  talkTo(args: readonly string[]): GitTalk;
  /** Its folder goes with it: a shell removes it while we go on. Throws as `git`. */
  end(): Promise<void>;
}

/** A git that is given lines and answers each. */
export interface GitTalk {
  /** What it answers to a line; nothing when it has ended instead. Throws as `run`. */
  ask(line: string, isWhole: (said: Buffer) => boolean): Promise<Buffer | undefined>;
  /** It is given nothing more, and ends. */
  hangUp(): void;
  /** Waits until it has ended. Throws as `run`. */
  close(): Promise<void>;
}

export interface LoopCommand {
  /** Without white space. */
  readonly args: readonly string[];
  readonly input?: string | Uint8Array;
}

export interface LoopAnswer {
  readonly exitCode: number;
  readonly stdout: Buffer;
}

interface LoopCall {
  readonly gitDir: string;
  /** Where its inputs may lie, and what relative paths in arguments stand against. Goes at the end. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly limits?: Partial<GitLimits> | undefined;
}

const ending = Buffer.from('\0\0\0');

/** Nothing that it writes is made to last, but where an argument says so. */
export function openGitLoop({ gitDir, folder, env, limits }: LoopCall): GitLoop {
  const { stdin, stdout, words, timed, ended } = startGitLoop({
    ...{ gitDir, env, cwd: folder, durable: false },
    ...(limits === undefined ? {} : { limits }),
  });
  // one that has ended takes no more lines: how it ended tells why
  for (const road of [stdin, words]) road.on('error', () => undefined);
  const heard = new Heard(stdout, gitLimits(limits).gitOutputBytes, ended);
  const start = (args: readonly string[], input: string): void => {
    if (args.some((arg) => /\s/.test(arg))) throw new Error('an argument with white space');
    stdin.write(`${input} ${args.join(' ')}\n`);
  };
  const run: GitLoop['run'] = async ({ args, input }) => {
    if (input !== undefined) await writeFile(join(folder, 'input'), input);
    start(args, input === undefined ? '/dev/null' : 'input');
    return await timed(() => heard.answer());
  };
  return {
    run,
    async runBoth({ args }, other) {
      start(args, 'beside');
      const answer = await run(other);
      return [await timed(() => heard.answer()), answer];
    },
    talkTo(args) {
      start(args, 'words');
      return {
        ask(line, isWhole) {
          words.write(line);
          return timed(() => heard.until(isWhole));
        },
        hangUp: () => void words.end(),
        async close() {
          words.end();
          await timed(() => heard.answer());
        },
      };
    },
    async end() {
      words.end();
      stdin.end('gone\n');
      await heard.stop();
      await ended();
    },
  };
}

/** What a loop prints, cut into answers. */
class Heard {
  private said = Buffer.alloc(0);
  private turn: Promise<unknown> = Promise.resolve();
  private readonly chunks: AsyncIterator<Uint8Array>;

  constructor(
    stdout: AsyncIterable<Uint8Array>,
    private readonly most: number,
    private readonly ended: () => Promise<string>,
  ) {
    this.chunks = stdout[Symbol.asyncIterator]();
  }

  /** All that one git has printed, and how it ended. Answers come in the order in which they are asked for. */
  answer(): Promise<LoopAnswer> {
    const answer = this.turn.then(() => this.next());
    this.turn = answer.catch(() => undefined);
    return answer;
  }

  private async next(): Promise<LoopAnswer> {
    for (let from = 0; ; ) {
      const end = this.said.indexOf(ending, from);
      if (end >= 0) return this.take(end);
      from = Math.max(0, this.said.length - ending.length + 1);
      await this.hear();
    }
  }

  /** What is whole by itself; nothing, and all is left for `answer`, where git has ended. */
  async until(isWhole: (said: Buffer) => boolean): Promise<Buffer | undefined> {
    for (;;) {
      if (this.said.includes(ending)) return undefined;
      if (isWhole(this.said)) break;
      await this.hear();
    }
    const { said } = this;
    this.said = Buffer.alloc(0);
    return said;
  }

  async stop(): Promise<void> {
    await this.chunks.return?.();
  }

  private take(end: number): LoopAnswer {
    const answer = this.said.subarray(0, end);
    this.said = this.said.subarray(end + ending.length);
    const [exitCode = ''] = /\d+$/.exec(answer.subarray(-3).toString('latin1')) ?? [];
    return { exitCode: Number(exitCode), stdout: answer.subarray(0, answer.length - exitCode.length) };
  }

  private async hear(): Promise<void> {
    const { value, done } = await this.chunks.next();
    if (done === true) throw new FarmError('internal', 'git gave no answer.', { cause: new Error(await this.ended()) });
    this.said = Buffer.concat([this.said, value]);
    if (this.said.length > this.most) throw new FarmError('too_large', 'git answered more than its limit.');
  }
}
