import type { CommandRunPayload } from '#contracts';
import type { Enclosure } from '../process/guarded-tree.js';
import type { SandboxRung } from '../process/sandbox/index.js';
import type { DispatchFolder } from '../workspace/owner-marker.js';
import type { RunNeeds } from './run-needs.js';
import { openRunSandbox } from './run-sandbox.js';

/** What a command runs behind, and the environment that it finds there. */
export interface CommandWalls {
  readonly enclose: Enclosure;
  readonly environment: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/**
 * The rung of a command: what it runs, an agent has written, so it gets the walls that the agent had; a build writes into its
 * workspace, so `read_only` asks for walls and no more (H28).
 *
 * @throws FarmError `misconfigured` (a fault of this machine, H11)
 */
export function commandRungOf({ sandboxes }: RunNeeds, { provider, sandbox }: CommandRunPayload): SandboxRung {
  const mode = sandbox?.mode === 'read_only' ? 'workspace_write' : sandbox?.mode;
  return sandboxes.rungFor({ foreign: provider !== 'scripted', mode });
}

/** @throws FarmError `misconfigured` */
export async function openCommandWalls(
  needs: RunNeeds,
  folder: DispatchFolder,
  payload: CommandRunPayload,
): Promise<CommandWalls> {
  const sandbox = await openRunSandbox(needs, folder, {
    rung: commandRungOf(needs, payload),
    readOnlyWorkspace: false,
    hosts: payload.sandbox?.network === 'allow' ? ['*'] : [],
    memberDoor: false,
  });
  return {
    enclose: sandbox.enclosure,
    environment: { ...needs.environment, ...sandbox.environment },
    close: () => sandbox.close(),
  };
}
