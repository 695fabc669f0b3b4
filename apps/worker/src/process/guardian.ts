import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { Duplex } from 'node:stream';
import { FarmError, limits } from '#contracts';
import { childMain } from './child-main.js';
import type { FreezeCause, GuardedTree, RootExit, TreeCommand, TreeEnd, TreeState } from './guarded-tree.js';
import { type GuardianOrder, type GuardianReport, parseReport } from './guardian-messages.js';
import type { LeaseTime } from './monotonic.js';
import { ProcessTree } from './process-tree.js';
import type { TreeMarker } from './tree-marker.js';

export interface GuardedStart {
  readonly command: TreeCommand;
  readonly marker: TreeMarker;
  readonly lease: LeaseTime;
  /** Between TERM and KILL, ms; `limits.stopGraceMs` by default. */
  readonly graceMs?: number;
}

/**
 * Starts a command under a guardian of its own. Resolves when it runs.
 * Throws `stale_lease` (the lease is over, nothing was started) or `misconfigured` (the program cannot be started).
 */
export async function startGuarded(start: GuardedStart): Promise<GuardedTree> {
  const guardian = spawn(process.execPath, [...smallHeap, childMain(import.meta.url, './guardian-main.js')], {
    cwd: '/',
    env: {},
    stdio: ['pipe', 'pipe', 'ignore', 'pipe', 'pipe', 'pipe'],
    detached: true,
  });
  const tree = new TreeHandle(guardian, start);
  await tree.started;
  return tree;
}

const smallHeap = ['--max-old-space-size=32', '--max-semi-space-size=1'];

class TreeHandle implements GuardedTree {
  readonly marker: TreeMarker;
  readonly guardianPid: number;
  readonly stdin: Duplex;
  readonly stdout: Duplex;
  readonly stderr: Duplex;
  readonly started: Promise<void>;
  readonly exited: Promise<RootExit>;
  private current: TreeState = 'running';
  private rootPid = 0;
  private readonly listeners: ((state: TreeState, cause?: FreezeCause) => void)[] = [];
  private readonly answers: ((state: 'running' | 'frozen') => void)[] = [];
  private readonly start = Promise.withResolvers<void>();
  private readonly exit = Promise.withResolvers<RootExit>();
  private readonly gone = Promise.withResolvers<TreeEnd>();
  private end: TreeEnd | undefined;

  constructor(
    private readonly guardian: ChildProcess,
    private readonly wanted: GuardedStart,
  ) {
    this.marker = wanted.marker;
    this.guardianPid = guardian.pid ?? 0;
    this.stdin = pipeOf(guardian, 3);
    this.stdout = pipeOf(guardian, 4);
    this.stderr = pipeOf(guardian, 5);
    this.started = this.start.promise;
    this.exited = this.exit.promise;
    // A tree that does not read, or is gone, shows as its exit and not as EPIPE.
    for (const stream of [this.stdin, guardian.stdin]) stream?.on('error', () => {});
    if (guardian.stdout === null) throw new FarmError('internal', 'The guardian was started without its pipes.');
    // The end of its reports comes with its end, after all that it said; `close` would also wait for a reader of the tree's pipes.
    createInterface({ input: guardian.stdout })
      .on('line', (line) => this.hear(parseReport(line)))
      .once('close', () => void this.afterGuardian());
    guardian.once('error', () => this.start.reject(notStarted('guardian')));
    this.tell({
      type: 'start',
      command: wanted.command,
      marker: wanted.marker,
      lease: wanted.lease,
      graceMs: wanted.graceMs ?? limits.stopGraceMs,
    });
  }

  get pid(): number {
    return this.rootPid;
  }

  get state(): TreeState {
    return this.current;
  }

  onState(listener: (state: TreeState, cause?: FreezeCause) => void): void {
    this.listeners.push(listener);
  }

  renew(lease: LeaseTime): void {
    this.tell({ type: 'renew', lease });
  }

  thaw(lease: LeaseTime): Promise<'running' | 'frozen'> {
    return this.ask({ type: 'thaw', lease });
  }

  async freeze(): Promise<void> {
    await this.ask({ type: 'freeze' });
  }

  stop(options: { readonly graceMs?: number } = {}): Promise<TreeEnd> {
    this.tell({ type: 'stop', graceMs: options.graceMs ?? this.wanted.graceMs ?? limits.stopGraceMs });
    return this.gone.promise;
  }

  private ask(order: GuardianOrder): Promise<'running' | 'frozen'> {
    if (this.current === 'gone') return Promise.resolve('frozen');
    const { promise, resolve } = Promise.withResolvers<'running' | 'frozen'>();
    this.answers.push(resolve);
    this.tell(order);
    return promise;
  }

  private tell(order: GuardianOrder): void {
    this.guardian.stdin?.write(`${JSON.stringify(order)}\n`);
  }

  private hear(report: GuardianReport | undefined): void {
    switch (report?.type) {
      case 'started':
        this.rootPid = report.pid;
        this.start.resolve();
        break;
      case 'refused':
        this.start.reject(notStarted(report.code));
        break;
      case 'state':
        this.enter(report.state, report.cause);
        break;
      case 'done':
        this.answers.shift()?.(report.state);
        break;
      case 'exited':
        this.exit.resolve(report.exit);
        break;
      case 'gone':
        this.end = report.end;
        break;
    }
  }

  private enter(state: TreeState, cause?: FreezeCause): void {
    if (state === this.current) return;
    this.current = state;
    for (const listener of this.listeners) listener(state, cause);
  }

  /** A guardian that was killed leaves its tree behind: then it is ended from here. */
  private async afterGuardian(): Promise<void> {
    this.start.reject(notStarted('guardian'));
    const end = this.end ?? (await new ProcessTree(this.marker).end(0));
    this.exit.resolve({ code: null, signal: 'SIGKILL' });
    this.enter('gone');
    for (const answer of this.answers.splice(0)) answer('frozen');
    this.gone.resolve(end);
  }
}

function pipeOf(child: ChildProcess, fd: number): Duplex {
  const stream = child.stdio[fd];
  if (!(stream instanceof Duplex)) throw new FarmError('internal', 'The guardian was started without its pipes.');
  return stream;
}

function notStarted(code: string): FarmError {
  if (code === 'lease_over')
    return new FarmError('stale_lease', 'The lease was over before the program could be started.');
  return new FarmError('misconfigured', `The program could not be started (${code}).`, {
    hint: 'Check on this machine that the program exists, may be executed, and that its working directory is there.',
  });
}
