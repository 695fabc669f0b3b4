import type { DispatchPayload } from '#contracts';
import type { MemberCalls } from '../member-door/member-calls.js';
import { LocalMemberDoor } from '../member-door/member-door.js';
import type { Sandbox, SandboxRung } from '../process/sandbox/index.js';
import type { Provider, SessionAccount, SessionRequest } from '../provider/port.js';
import type { DispatchFolder } from '../workspace/owner-marker.js';
import type { RunNeeds } from './run-needs.js';
import { openRunSandbox, seenAccount } from './run-sandbox.js';

/** What decides over the walls of a session. */
type Walls = Pick<DispatchPayload, 'provider' | 'sandbox'>;

/** The rung that a Dispatch gets here. @throws FarmError `misconfigured` */
export function rungOf({ sandboxes }: Pick<RunNeeds, 'sandboxes'>, payload: Walls): SandboxRung {
  return sandboxes.rungFor({ foreign: payload.provider !== 'scripted', mode: payload.sandbox?.mode });
}

/** Where one session runs: its member door, and its sandbox around both. */
export class SessionPlace {
  private constructor(
    private readonly door: LocalMemberDoor,
    private readonly sandbox: Sandbox,
    private readonly account: SessionAccount | undefined,
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
    },
    calls: Pick<MemberCalls, 'call'>,
  ): Promise<SessionPlace> {
    const { provider, payload, account, program } = session;
    const rung = rungOf(run, payload);
    const needs = await provider.enclosureNeeds?.({
      ...(account === undefined ? {} : { account }),
      ...(program === undefined ? {} : { program }),
    });
    const sandbox = await openRunSandbox(run, folder, {
      rung,
      readOnlyWorkspace: payload.sandbox?.mode === 'read_only',
      hosts: hostsOf(payload),
      needs,
      account,
      memberDoor: true,
    });
    const { state: stateFolder } = folder;
    const door = await LocalMemberDoor.open(
      calls,
      run.log,
      rung === 'bwrap' ? { kind: 'sandbox', stateFolder } : { kind: 'loopback' },
    );
    return new SessionPlace(door, sandbox, account === undefined ? undefined : seenAccount(account, needs, sandbox));
  }

  /** What of a session's request depends on the place. */
  requestParts(
    environment: Readonly<Record<string, string>>,
  ): Pick<SessionRequest, 'memberDoor' | 'enclosure' | 'environment' | 'account'> {
    return {
      memberDoor: this.door.door,
      enclosure: this.sandbox.enclosure,
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

/** What the workflow and the repository let a session reach; the provider's own hosts come beside. */
function hostsOf({ sandbox }: Walls): readonly string[] {
  return sandbox?.network === 'allow' ? ['*'] : [];
}
