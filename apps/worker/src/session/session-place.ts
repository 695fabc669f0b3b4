import type { DispatchPayload } from '#contracts';
import { LocalMemberDoor } from '../member-door/member-door.js';
import type { DoorCalls } from '../member-door/member-server.js';
import type { Enclosure } from '../process/guarded-tree.js';
import type { Sandbox, SandboxRung } from '../process/sandbox/index.js';
import type { Provider, SessionAccount, SessionRequest } from '../provider/port.js';
import type { DispatchFolder } from '../workspace/owner-marker.js';
import { egressHosts } from './egress-hosts.js';
import { insideEnvironment } from './inside-environment.js';
import type { RepositorySettings } from './job-settings.js';
import type { RunNeeds } from './run-needs.js';
import { openRunSandbox, seenAccount, visibleSecrets } from './run-sandbox.js';
import type { JobWalls } from './run-setup.js';

/** What decides over the walls of a session. */
type Walls = Pick<DispatchPayload, 'provider' | 'sandbox'>;

/** The rung that a Dispatch gets here. @throws FarmError `misconfigured` */
export function rungOf({ sandboxes }: Pick<RunNeeds, 'sandboxes'>, payload: Walls): SandboxRung {
  return sandboxes.rungFor({ foreign: payload.provider !== 'scripted', mode: payload.sandbox?.mode });
}

/** @throws FarmError `misconfigured` */
export function wallsOf(run: Pick<RunNeeds, 'sandboxes'>, payload: Walls, settings: RepositorySettings): JobWalls {
  return { rung: rungOf(run, payload), hosts: egressHosts(payload, settings) };
}

/** Where one session runs: its member door, and its sandbox around both. */
export class SessionPlace {
  private constructor(
    private readonly door: LocalMemberDoor,
    private readonly sandbox: Sandbox,
    private readonly account: SessionAccount | undefined,
    private readonly inside: Enclosure,
  ) {}

  /** @throws FarmError `misconfigured` */
  static async open(
    run: Pick<RunNeeds, 'home' | 'sandboxes' | 'log'>,
    folder: DispatchFolder,
    session: {
      readonly provider: Provider;
      readonly payload: Walls;
      readonly account?: SessionAccount;
      readonly program?: string;
      readonly arguments?: readonly string[];
      readonly settings?: RepositorySettings;
    },
    calls: DoorCalls,
  ): Promise<SessionPlace> {
    const { provider, payload, account, program, arguments: rest, settings = null } = session;
    const walls = wallsOf(run, payload, settings);
    const needs = await provider.enclosureNeeds?.({
      ...(account === undefined ? {} : { account }),
      ...(program === undefined ? {} : { program }),
      ...(rest === undefined ? {} : { arguments: rest }),
    });
    const sandbox = await openRunSandbox(run, folder, {
      ...walls,
      readOnlyWorkspace: payload.sandbox?.mode === 'read_only',
      needs,
      account,
      memberDoor: true,
    });
    const door = await LocalMemberDoor.open(
      calls,
      run.log,
      walls.rung === 'bwrap' ? { kind: 'sandbox', ownFolder: folder.sandbox } : { kind: 'loopback' },
    );
    const seen = account === undefined ? undefined : seenAccount(account, needs, sandbox);
    if (account !== undefined && visibleSecrets(account, needs).length > 0)
      run.log.warn({ account: account.name }, 'the agent can see the key of its account: no proxy can add it (H35)');
    return new SessionPlace(door, sandbox, seen, await insideEnvironment(folder.state, settings));
  }

  /** What of a session's request depends on the place. */
  requestParts(
    environment: Readonly<Record<string, string>>,
  ): Pick<SessionRequest, 'memberDoor' | 'enclosure' | 'environment' | 'account'> {
    return {
      memberDoor: this.door.door,
      enclosure: (command) => this.sandbox.enclosure(this.inside(command)),
      environment: { ...environment, ...this.sandbox.environment },
      ...(this.account === undefined ? {} : { account: this.account }),
    };
  }

  /** After the tree is gone: nobody calls any more. */
  async close(): Promise<void> {
    await this.door.close();
    await this.sandbox.close();
  }
}
