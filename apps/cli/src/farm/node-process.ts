import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { FarmError, isFarmErrorCode } from '#contracts';
import { childEnvironment } from '../services/child-environment.js';
import { compiledFolder } from './package-file.js';

export interface NodeProcessOptions {
  /** For messages: `controller`, `worker 1`. */
  readonly name: string;
  readonly program: string;
  readonly args?: readonly string[];
  /** Beside the allow list; secrets may stand here, never in the arguments. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where its stderr goes (0600, appended). */
  readonly log: string;
  /** Written to its stdin, which is closed then. */
  readonly input?: string;
  /** The JSON lines of its stdout after `ready`. */
  readonly onLine?: (line: ProcessLine) => void;
}

/** A JSON line of a child's stdout. */
export const ProcessLine = z.record(z.string(), z.unknown());
export type ProcessLine = Readonly<z.output<typeof ProcessLine>>;

export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface NodeProcess {
  readonly name: string;
  readonly pid: number;
  /** Its first line with `ready`; rejects with FarmError when it ends before that. */
  readonly ready: Promise<ProcessLine>;
  readonly ended: Promise<ProcessEnd>;
  readonly running: boolean;
  signal(name: NodeJS.Signals): void;
  /** SIGTERM, and SIGKILL when it is still there after `patienceMs`. */
  stop(patienceMs: number): Promise<ProcessEnd>;
}

/**
 * V8 lets what was just allocated grow to three times this many MiB, and keeps it: most of what an idle program would hold, and what
 * each git that it starts would pay for.
 */
const youngMib = 8;

/** Starts one of our own programs. It has a session of its own: Ctrl-C at the terminal is ours to pass on, in order. */
export async function startNodeProcess(options: NodeProcessOptions): Promise<NodeProcess> {
  const log = await open(options.log, 'a', 0o600);
  try {
    const { size: from } = await log.stat();
    const { program, args = [] } = options;
    const child = spawn(process.execPath, [`--max-semi-space-size=${youngMib}`, program, ...args], {
      detached: true,
      stdio: [options.input === undefined ? 'ignore' : 'pipe', 'pipe', log.fd],
      env: { ...childEnvironment(), NODE_COMPILE_CACHE: compiledFolder(), ...onlySet(options.env) },
    });
    await once(child, 'spawn');
    return watched(child, options, from);
  } finally {
    await log.close();
  }
}

function watched(child: ChildProcess, options: NodeProcessOptions, from: number): NodeProcess {
  const { name, log, input, onLine } = options;
  const ended = once(child, 'exit').then(
    ([code, signal]): ProcessEnd => ({ code: code ?? null, signal: signal ?? null }),
  );
  // A child that ends before it has read its input closes the pipe under us; how it ended is told by `ended`.
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(input);
  const ready = new Promise<ProcessLine>((resolve, reject) => {
    if (child.stdout !== null) {
      createInterface({ input: child.stdout }).on('line', (text) => {
        const line = readLine(text);
        if (line === undefined) return;
        if (line.ready === true) resolve(line);
        else onLine?.(line);
      });
    }
    void ended.then(async (end) => reject(await endedEarly(name, end, log, from)));
  });
  // Whoever starts a process awaits this; a process that ends later must not fail for a second time.
  ready.catch(() => undefined);
  const signal = (signalName: NodeJS.Signals): void => {
    child.kill(signalName);
  };
  return {
    name,
    pid: child.pid ?? 0,
    ready,
    ended,
    get running() {
      return child.exitCode === null && child.signalCode === null;
    },
    signal,
    async stop(patienceMs) {
      signal('SIGTERM');
      const late = setTimeout(() => signal('SIGKILL'), patienceMs);
      const end = await ended;
      clearTimeout(late);
      return end;
    },
  };
}

function readLine(text: string): ProcessLine | undefined {
  try {
    return ProcessLine.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

const LastWords = z.looseObject({
  code: z.string().refine(isFarmErrorCode),
  msg: z.string(),
  hint: z.string().optional(),
});

/** Our programs end a start that fails with one line that says the code and the reason: that is what the person needs. */
async function endedEarly(name: string, { code, signal }: ProcessEnd, log: string, from: number): Promise<FarmError> {
  const said = (await readFile(log).catch(() => Buffer.alloc(0))).subarray(from).toString('utf8');
  const words = said.split('\n').map((line) => LastWords.safeParse(readLine(line)).data);
  const last = words.findLast((line) => line !== undefined);
  const hint = `${last?.hint === undefined ? '' : `${last.hint} `}Its log: ${log}`;
  if (last !== undefined && isFarmErrorCode(last.code))
    return new FarmError(last.code, `The ${name}: ${last.msg}`, { hint });
  return new FarmError('unavailable', `The ${name} ended before it was ready (${signal ?? `exit ${code}`}).`, { hint });
}

function onlySet(env: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(env).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])));
}
