import type { HeldLease } from '../claim/held-lease.js';
import type { Enclosure } from '../process/guarded-tree.js';
import type { DispatchFolder } from '../workspace/owner-marker.js';
import type { RunNeeds } from './run-needs.js';

/** What a command runs behind, and the environment that it finds there. */
export interface CommandWalls {
  readonly enclose: Enclosure;
  readonly environment: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/** The same walls as an agent's on this machine: what it verifies, an agent has written. */
export async function openCommandWalls(
  needs: RunNeeds,
  _lease: HeldLease,
  _folder: DispatchFolder,
  _signal: AbortSignal,
): Promise<CommandWalls> {
  return { enclose: (command) => command, environment: needs.environment, close: async () => undefined };
}
