import type { Readable, Writable } from 'node:stream';
import type { LeaseTime } from './monotonic.js';
import type { TreeMarker } from './tree-marker.js';

/** A program with all that it gets. Secrets and prompts go through stdin or files of mode 0600, never into `args` (H22). */
export interface TreeCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment, from an allow list; the marker is added by the guardian. */
  readonly environment: Readonly<Record<string, string>>;
}

/** The place of the sandbox: turns a command into the same command behind its walls (H28). */
export type Enclosure = (command: TreeCommand) => TreeCommand;

/** How the tree's first process ended. Its descendants may live on until `stop`. */
export interface RootExit {
  readonly code: number | null;
  readonly signal: string | null;
}

/**
 * `frozen`: every process is stopped. `ending`: TERM was sent or the grace runs. `gone`: it is proved that no process is left,
 * or `stop` gave up and said so.
 */
export type TreeState = 'running' | 'frozen' | 'ending' | 'gone';

export type FreezeCause = 'lease_end' | 'machine_slept' | 'asked';

/** What ending a tree came to. Survivors mean: effects unknown, do not capture, do not reuse the slot (W6.5). */
export type TreeEnd = { readonly empty: true } | { readonly empty: false; readonly survivors: readonly number[] };

/**
 * A process tree under a guardian of its own: a small process in another session that knows the lease's end. It freezes the
 * tree at that end by itself (also while this process is stopped), and ends it when this process is gone.
 */
export interface GuardedTree {
  readonly marker: TreeMarker;
  /** Process id, group id and session id of the first process. */
  readonly pid: number;
  readonly guardianPid: number;
  readonly stdin: Writable;
  /** Ends when the whole tree has closed it, so at the latest with `stop`; not with `exited`. */
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly exited: Promise<RootExit>;
  readonly state: TreeState;
  /** Called on each change of `state`, with the cause of a freeze. */
  onState(listener: (state: TreeState, cause?: FreezeCause) => void): void;
  /** A beat was answered: the lease counts from its sending. Does not thaw. */
  renew(lease: LeaseTime): void;
  /** After an answered beat or claim: renew, then let the tree go on. Answers `frozen` if that lease is over already. */
  thaw(lease: LeaseTime): Promise<'running' | 'frozen'>;
  freeze(): Promise<void>;
  /**
   * TERM (and CONT) to every process, grace, KILL, until /proc shows none: setsid'ed, reparented and TERM-ignoring ones too (P4,
   * W15). With `graceMs: 0` it kills at once and never lets a frozen tree run again. Idempotent; resolves when the guardian is
   * gone as well.
   */
  stop(options?: { readonly graceMs?: number }): Promise<TreeEnd>;
}
