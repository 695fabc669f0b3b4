import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { execa } from 'execa';
import { FarmError, systemCodeOf } from '#contracts';
import { type GitSettings, gitEnvironment } from './environment.js';
import { type GitLimits, gitLimits } from './git-limits.js';

export interface GitCall {
  readonly cwd?: string;
  readonly gitDir?: string;
  readonly workTree?: string;
  /** Set after the allow list; for git's own variables (index file, object folders, dates). */
  readonly env?: Readonly<Record<string, string>>;
  readonly config?: Readonly<Record<string, string>>;
  readonly input?: string | Uint8Array | Readable;
  /** Default `farm`. */
  readonly settings?: GitSettings;
  /** Objects and refs are on disk before git ends (H4). Default true; a capture can be made again and does without. */
  readonly durable?: boolean;
  /** Exit codes that are answers and not faults. Default 0 only. */
  readonly accept?: readonly number[] | 'any';
  readonly limits?: Partial<GitLimits>;
  readonly signal?: AbortSignal;
  /** No file that git writes gets larger; git is ended by the system where one would (H30). */
  readonly maxFileBytes?: number;
  /** A process group of its own, ended as a whole: what talks to a network outlives the git that began it. */
  readonly group?: boolean;
}

export interface GitAnswer {
  readonly exitCode: number;
  readonly stdout: Buffer;
  /** stdout as UTF-8 without the white space around it. */
  readonly text: string;
  readonly stderr: string;
}

/**
 * Runs git with nobody's configuration, no hooks, no fsmonitor, no network, and a limit of time, memory and output (H2, H31).
 *
 * @throws FarmError `timeout`, `too_large` (output), `disk_full`, `internal` (an exit code that `accept` does not name; git's own
 * words are the cause)
 */
export async function git(args: readonly string[], call: GitCall = {}): Promise<GitAnswer> {
  const limits = gitLimits(call.limits);
  const running = execa(...command(args, call), {
    ...surroundings(call),
    ...given(call.input),
    encoding: 'buffer',
    stripFinalNewline: false,
    maxBuffer: { stdout: limits.gitOutputBytes, stderr: 1024 * 1024 },
  });
  const watch = call.group === true ? watchGroup(running.pid, call) : undefined;
  watch?.time();
  const alone = await running.finally(() => watch?.stop());
  const ended = { ...alone, ...watch?.ended() };
  const stdout = Buffer.from(ended.stdout);
  const stderr = Buffer.from(ended.stderr).toString();
  if (ended.isMaxBuffer) throw new FarmError('too_large', `git ${args[0]} answered more than its limit.`);
  const exitCode = judge(args, call, { ...ended, stderr });
  return { exitCode, stdout, stderr, text: stdout.toString().trim() };
}

export interface WrittenFile {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

/**
 * Runs git and streams its stdout behind `head` into a file, never through memory.
 *
 * @throws as `git`; `too_large` when the file would pass `maxBytes`
 */
export async function gitToFile(
  args: readonly string[],
  call: GitCall,
  to: { readonly path: string; readonly maxBytes: number; readonly head?: string },
): Promise<WrittenFile> {
  const running = execa(...command(args, call), {
    ...surroundings(call),
    ...given(call.input),
    encoding: 'buffer',
    buffer: { stdout: false, stderr: true },
    maxBuffer: { stderr: 1024 * 1024 },
  });
  const hash = createHash('sha256');
  let bytes = 0;
  const meter = async function* (chunks: AsyncIterable<Uint8Array>) {
    if (to.head !== undefined) yield counted(Buffer.from(to.head));
    for await (const chunk of chunks) yield counted(chunk);
  };
  const counted = (chunk: Uint8Array): Uint8Array => {
    bytes += chunk.length;
    if (bytes > to.maxBytes) throw new FarmError('too_large', `git ${args[0]} wrote more than its limit.`);
    hash.update(chunk);
    return chunk;
  };
  const written = pipeline(
    running.stdout,
    meter,
    createWriteStream(to.path, { flags: 'wx', flush: call.durable ?? true }),
  );
  const outcome = await written.then(
    () => undefined,
    (fault: unknown) => fault,
  );
  if (outcome !== undefined) running.kill('SIGKILL');
  const ended = await running;
  if (outcome instanceof FarmError) throw outcome;
  judge(args, call, { ...ended, stderr: Buffer.from(ended.stderr).toString() });
  if (outcome !== undefined) throw diskFull(outcome) ?? outcome;
  return { path: to.path, bytes, sha256: hash.digest('hex') };
}

/**
 * A process group that runs git once for each line of its stdin: the file that is git's stdin, then the arguments. Behind each
 * answer stand its exit code and three NULs. `timed` is for the time that one may take, `ended` throws as `git`. In place of the file
 *  words    git's stdin is `words`, until that ends; what it prints is not held back. One git in all
 *  beside   git runs while the next one does, without stdin and stdout; its answer comes behind that of the other
 *  gone     no git: the folder goes with all that is in it, and the shell ends
 */
export function startGitLoop(call: Omit<GitCall, 'input' | 'accept'>) {
  const group = { ...call, group: true, accept: 'any' } as const;
  const running = execa(...command([], call, forEachLine), {
    ...surroundings(group),
    encoding: 'buffer',
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
    buffer: { stdout: false, stderr: true },
    maxBuffer: { stderr: 1024 * 1024 },
  });
  const words = running.stdio[3];
  if (!(words instanceof Socket)) throw new TypeError('a pipe of a child is a socket');
  const watch = watchGroup(running.pid, group);
  const timed = async <T>(answer: () => Promise<T>): Promise<T> => {
    const stop = watch.time();
    return await answer().finally(stop);
  };
  const ended = async (): Promise<string> => {
    const alone = await running.finally(() => watch.stop());
    const stderr = Buffer.from(alone.stderr).toString();
    judge(['loop'], group, { ...alone, ...watch.ended(), stderr });
    return stderr;
  };
  return { stdin: running.stdin, stdout: running.stdout, words, timed, ended };
}

/** The lines of git's stdout, one by one, for answers that do not fit in memory. Throws as `git`. */
export async function* gitLines(args: readonly string[], call: GitCall): AsyncGenerator<string> {
  const running = execa(...command(args, call), {
    ...surroundings(call),
    ...given(call.input),
    buffer: { stdout: false, stderr: true },
    maxBuffer: { stderr: 1024 * 1024 },
  });
  try {
    yield* running.iterable();
  } finally {
    running.kill('SIGKILL');
  }
  judge(args, call, await running);
}

/** `disk_full` when that is what the fault says, else nothing. */
export function diskFull(fault: unknown): FarmError | undefined {
  const code = systemCodeOf(fault);
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return undefined;
  return new FarmError('disk_full', 'The disk is full.', { hint: 'Free some space, then try again.', cause: fault });
}

// ulimit because RLIMIT_AS is inherited and git has no limit of its own: one delta of a few bytes can ask for gigabytes (H31)
const limited = 'ulimit -v "$1" 2>/dev/null; [ "$2" = 0 ] || ulimit -f "$2"; shift 2;';
const once = `${limited} exec git "$@"`;
// git holds back what it prints, but from 2.49 on; stdbuf is where the GNU tools are
const atOnce = `now=; command -v stdbuf >/dev/null && now='stdbuf -o0';`;
const runOne = `case $input in
  beside) git $args </dev/null >/dev/null 3<&- & beside=$!; continue;;
  words) $now git $args <&3;;
  gone) here=$PWD; cd / && exec rm -rf -- "$here";;
  *) git $args <"$input" 3<&-;;
esac`;
const tell = `printf '%d\\000\\000\\000' $?`;
const tellBeside = `if [ "$beside" ]; then wait $beside; ${tell}; beside=; fi`;
const forEachLine = `${limited} ${atOnce} set -f; beside=; while read -r input args; do ${runOne}; ${tell}; ${tellBeside}; done`;

function command(args: readonly string[], call: GitCall, script = once): [string, readonly string[]] {
  // on the user's own machine and repository git takes what it takes
  if (call.settings === 'user') return ['git', args];
  const kibibytes = Math.floor(gitLimits(call.limits).gitMemoryBytes / 1024);
  // POSIX counts files in blocks of 512 bytes
  const blocks = Math.ceil((call.maxFileBytes ?? 0) / 512);
  return ['/bin/sh', ['-c', script, 'git', String(kibibytes), String(blocks), ...args]];
}

/** Ends the whole group at the time limit or the signal: execa would end its first process and wait for the others' pipes. */
function watchGroup(pid: number | undefined, call: GitCall) {
  let how: 'timedOut' | 'isCanceled' | undefined;
  const end = (why: 'timedOut' | 'isCanceled') => () => {
    how ??= why;
    if (pid !== undefined) endGroup(pid);
  };
  const timers = new Set<NodeJS.Timeout>();
  const stopTimer = (timer: NodeJS.Timeout): void => {
    clearTimeout(timer);
    timers.delete(timer);
  };
  const cancel = end('isCanceled');
  call.signal?.addEventListener('abort', cancel);
  if (call.signal?.aborted === true) cancel();
  return {
    /** From now on, until it stops or what it answers is called; for several at once, each by itself. */
    time() {
      const timer = setTimeout(end('timedOut'), gitLimits(call.limits).gitSeconds * 1000);
      timers.add(timer);
      return () => stopTimer(timer);
    },
    stop() {
      for (const timer of timers) stopTimer(timer);
      call.signal?.removeEventListener('abort', cancel);
      // a helper that outlived its git
      if (pid !== undefined) endGroup(pid);
    },
    ended: () => ({ timedOut: how === 'timedOut', isCanceled: how === 'isCanceled' }),
  };
}

function endGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch (error) {
    if (systemCodeOf(error) !== 'ESRCH') throw error;
  }
}

function surroundings(call: GitCall) {
  return {
    ...(call.cwd === undefined ? {} : { cwd: call.cwd }),
    ...(call.signal === undefined || call.group === true ? {} : { cancelSignal: call.signal }),
    env: gitEnvironment({
      settings: call.settings ?? 'farm',
      durable: call.durable ?? true,
      config: call.config ?? {},
      extra: {
        ...(call.gitDir === undefined ? {} : { GIT_DIR: call.gitDir }),
        ...(call.workTree === undefined ? {} : { GIT_WORK_TREE: call.workTree }),
        ...call.env,
      },
    }),
    extendEnv: false,
    reject: false,
    ...(call.group === true ? { detached: true } : { timeout: gitLimits(call.limits).gitSeconds * 1000 }),
    killSignal: 'SIGKILL',
  } as const;
}

function given(input: GitCall['input']) {
  if (input === undefined) return { stdin: 'ignore' } as const;
  return { input } as const;
}

interface Ended {
  readonly exitCode?: number | undefined;
  readonly timedOut: boolean;
  readonly isCanceled: boolean;
  readonly stderr: string;
}

function judge(args: readonly string[], call: GitCall, ended: Ended): number {
  if (ended.timedOut) {
    throw new FarmError(
      'timeout',
      `git ${args[0]} took longer than ${gitLimits(call.limits).gitSeconds} s and was ended.`,
    );
  }
  if (ended.isCanceled)
    throw new FarmError('unavailable', `git ${args[0]} was stopped.`, { cause: call.signal?.reason });
  const cause = new Error(`git ${args[0]} ended with ${ended.exitCode ?? 'a signal'}: ${ended.stderr.slice(-4096)}`);
  if (ended.exitCode !== 0 && /No space left on device|Disk quota exceeded/.test(ended.stderr)) {
    throw new FarmError('disk_full', 'The disk is full.', { hint: 'Free some space, then try again.', cause });
  }
  const accepted = call.accept ?? [0];
  if (ended.exitCode === undefined) throw new FarmError('internal', `git ${args[0]} was killed.`, { cause });
  if (accepted !== 'any' && !accepted.includes(ended.exitCode)) {
    throw new FarmError('internal', `git ${args[0]} failed.`, { cause });
  }
  return ended.exitCode;
}
