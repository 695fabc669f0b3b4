import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll } from '@jest/globals';
import { compiledFolder } from '../../apps/cli/src/farm/package-file.js';
import { endProcess, type ProcessMark } from '../../apps/cli/src/services/process-mark.js';
import { record } from './recorded.js';
import { testRun } from './test-run.js';

const tracked = new Map<number, ProcessMark>();

// The hook belongs to the spec file that imports this module; each file has its own copy.
afterAll(async () => {
  for (const mark of tracked.values()) await endProcess(mark, [['SIGKILL', 5_000]]);
});

export interface TrackedProcess {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly mark: ProcessMark;
  /** All that it wrote so far. */
  stdout(): string;
  stderr(): string;
  /** Exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>;
  signal(signal: NodeJS.Signals): void;
}

export interface SpawnOptions {
  readonly cwd?: string;
  /** Its whole environment; ours when absent. */
  readonly env?: Readonly<Record<string, string>>;
  /** Written to its stdin, which is then closed. */
  readonly input?: string;
  /** A process group of its own. */
  readonly detached?: boolean;
}

/** Starts a program whose process is ended by pid after this spec file, and by the end of the run at the latest. */
export async function spawnTracked(
  program: string,
  args: readonly string[],
  options: SpawnOptions = {},
): Promise<TrackedProcess> {
  const { input, ...rest } = options;
  const env = { NODE_COMPILE_CACHE: compiledFolder(), ...(rest.env ?? process.env) };
  const child = spawn(program, args, { ...rest, env, stdio: ['pipe', 'pipe', 'pipe'] });
  const said = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said.stderr += text;
  });
  child.stdin.on('error', () => undefined);
  const ended = new Promise<number | NodeJS.Signals>((resolve) => {
    child.once('close', (code, signal) => resolve(code ?? signal ?? -1));
  });
  await once(child, 'spawn');
  child.stdin.end(input);
  const pid = child.pid ?? -1;
  const mark = trackPid(pid);
  return {
    child,
    pid,
    mark,
    stdout: () => said.stdout,
    stderr: () => said.stderr,
    ended,
    signal: (name) => void child.kill(name),
  };
}

/** Ends a process that something else started, too, after this spec file. */
export function trackPid(pid: number): ProcessMark {
  const mark = record(testRun().folder, pid);
  tracked.set(pid, mark);
  return mark;
}
