import type { FreezeCause, RootExit, TreeCommand, TreeEnd, TreeState } from './guarded-tree.js';
import type { LeaseTime } from './monotonic.js';
import type { TreeMarker } from './tree-marker.js';

/** Worker to guardian, one JSON per line on the guardian's stdin. The end of that pipe means that the worker is gone. */
export type GuardianOrder =
  | {
      readonly type: 'start';
      readonly command: TreeCommand;
      readonly marker: TreeMarker;
      readonly lease: LeaseTime;
      /** Between TERM and KILL when the worker is gone. */
      readonly graceMs: number;
    }
  | { readonly type: 'renew'; readonly lease: LeaseTime }
  | { readonly type: 'thaw'; readonly lease: LeaseTime }
  | { readonly type: 'freeze' }
  | { readonly type: 'stop'; readonly graceMs: number };

/** Guardian to worker, one JSON per line on the guardian's stdout. */
export type GuardianReport =
  | { readonly type: 'started'; readonly pid: number }
  /** Nothing was started: `code` is the system's error or `lease_over`. The guardian ends. */
  | { readonly type: 'refused'; readonly code: string }
  | { readonly type: 'state'; readonly state: Exclude<TreeState, 'gone'>; readonly cause?: FreezeCause }
  /** The answer to `thaw` and `freeze`, in their order. */
  | { readonly type: 'done'; readonly state: 'running' | 'frozen' }
  | { readonly type: 'exited'; readonly exit: RootExit }
  /** The last word. */
  | { readonly type: 'gone'; readonly end: TreeEnd };

const orders: Readonly<Record<GuardianOrder['type'], true>> = {
  start: true,
  renew: true,
  thaw: true,
  freeze: true,
  stop: true,
};
const reports: Readonly<Record<GuardianReport['type'], true>> = {
  started: true,
  refused: true,
  state: true,
  done: true,
  exited: true,
  gone: true,
};

/**
 * The two ends are one program in one version and the pipe is private, so only the kind is checked. No zod here: the guardian
 * stays small and starts fast.
 */
export function parseOrder(line: string): GuardianOrder | undefined {
  const value: unknown = JSON.parse(line);
  return isKind<GuardianOrder>(value, orders) ? value : undefined;
}

export function parseReport(line: string): GuardianReport | undefined {
  const value: unknown = JSON.parse(line);
  return isKind<GuardianReport>(value, reports) ? value : undefined;
}

function isKind<Message extends { readonly type: string }>(
  value: unknown,
  kinds: Readonly<Record<string, true>>,
): value is Message {
  if (typeof value !== 'object' || value === null || !('type' in value)) return false;
  return typeof value.type === 'string' && Object.hasOwn(kinds, value.type);
}
