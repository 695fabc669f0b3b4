import type { CommandRunPayload } from '#contracts';
import type { Enclosure } from '../process/guarded-tree.js';
import type { SandboxRung } from '../process/sandbox/index.js';
import type { DispatchFolder } from '../workspace/owner-marker.js';
import { egressHosts } from './egress-hosts.js';
import { insideEnvironment } from './inside-environment.js';
import type { RepositorySettings } from './job-settings.js';
import type { RunNeeds } from './run-needs.js';
import { openRunSandbox } from './run-sandbox.js';
import type { JobWalls } from './run-setup.js';

/** What a command runs behind, and the environment that it finds there. */
export interface CommandWalls {
  readonly enclose: Enclosure;
  readonly environment: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/**
 * The rung of a command: what it runs, an agent has written, so it gets the walls that the agent had. A build writes into its
 * workspace, so `read_only` asks a verification for walls and no more, as nothing of it is kept (H28).
 *
 * @throws FarmError `misconfigured` (a fault of this machine, H11)
 */
export function commandRungOf({ sandboxes }: RunNeeds, payload: CommandRunPayload): SandboxRung {
  const { provider, sandbox } = payload;
  const mode = sandbox?.mode === 'read_only' && !readsOnly(payload) ? 'workspace_write' : sandbox?.mode;
  return sandboxes.rungFor({ foreign: provider !== 'scripted', mode });
}

/** A member that may write nothing has nothing written for it. */
function readsOnly({ purpose, sandbox }: CommandRunPayload): boolean {
  return purpose === 'member' && sandbox?.mode === 'read_only';
}

/** @throws FarmError `misconfigured` */
export function commandWallsOf(needs: RunNeeds, payload: CommandRunPayload, settings: RepositorySettings): JobWalls {
  return { rung: commandRungOf(needs, payload), hosts: egressHosts(payload, settings) };
}

/** @throws FarmError `misconfigured` */
export async function openCommandWalls(
  needs: RunNeeds,
  folder: DispatchFolder,
  { payload, settings }: { readonly payload: CommandRunPayload; readonly settings: RepositorySettings },
): Promise<CommandWalls> {
  const sandbox = await openRunSandbox(needs, folder, {
    ...commandWallsOf(needs, payload, settings),
    readOnlyWorkspace: readsOnly(payload),
    memberDoor: false,
  });
  const inside = await insideEnvironment(folder.state, settings);
  return {
    enclose: (command) => sandbox.enclosure(inside(command)),
    environment: { ...needs.environment, ...sandbox.environment },
    close: () => sandbox.close(),
  };
}
