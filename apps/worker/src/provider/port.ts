import type { Enclosure, GuardedTree, TreeEnd } from '../process/guarded-tree.js';
import type { LeaseTime } from '../process/monotonic.js';
import type { TreeMarker } from '../process/tree-marker.js';
import type { ProviderEvent } from './events.js';

/** What a provider is asked to do: one Dispatch at one epoch. */
export interface SessionRequest {
  readonly marker: TreeMarker;
  readonly lease: LeaseTime;
  /** Absolute path of the workspace; the session's working directory. */
  readonly workspace: string;
  /** A folder of this Dispatch outside the workspace, mode 0700, for the adapter's own files (0600). */
  readonly stateFolder: string;
  /** System lane and user lane, the same bytes at every epoch (I6). Sent by stdin (H22). */
  readonly instructions: string;
  readonly input: string;
  readonly memberDoor: MemberDoor;
  /** The whole environment from an allow list; adapters add only what their provider needs. */
  readonly environment: Readonly<Record<string, string>>;
  readonly model?: string;
  readonly effort?: string;
  /** Whose login or key pays; without it the provider's own login of this machine's owner. */
  readonly account?: SessionAccount;
  /** CLAUDE.md, AGENTS.md and skills of the repository are read; its .mcp.json, too, only where this is true. */
  readonly repositoryInstructions: boolean;
  /**
   * Goes on with a session whose process has ended, in the same workspace and account: `input` is then what it is told next.
   * A session that is not there any more fails with `invalid` before `session`.
   */
  readonly resume?: { readonly ref: string };
  /** Absolute path of the CLI; found on PATH by default. */
  readonly program?: string;
  /** What stands behind the program, of an agent that has no CLI that we know (acp). */
  readonly arguments?: readonly string[];
  /** No sandbox yet where it is missing (H28). */
  readonly enclosure?: Enclosure;
  /** Between TERM and KILL, ms; `limits.stopGraceMs` by default. */
  readonly graceMs?: number;
}

/** A named account of the worker's own configuration, ready for one session. */
export interface SessionAccount {
  readonly name: string;
  /** CLAUDE_CONFIG_DIR, CODEX_HOME and the like: not secret. */
  readonly environment: Readonly<Record<string, string>>;
  /** Name → value, only into the process's environment, or nowhere where the sandbox's proxy injects it (H35). */
  readonly secrets: Readonly<Record<string, string>>;
  /** Base URL of the model's API; the provider's own by default. */
  readonly upstream?: string;
  readonly billing: 'plan' | 'metered';
  /** Of an agent that we know nothing of (acp). */
  readonly agent?: AgentSettings;
}

/** What the machine's owner says of an agent of their own choice. */
interface AgentSettings {
  /** Its login and its own things, which its sessions may write. */
  readonly folder?: string;
  /** The variable in which it wants the base URL of its model. */
  readonly upstreamName?: string;
  /** How it sends its key to `upstream`; without it the key goes into its environment and is visible to the agent (H35). */
  readonly keyHeader?: { readonly name: string; readonly prefix?: string };
  readonly hosts: readonly string[];
}

/** What a look at a provider is about; without it, the provider as it comes on this machine. */
export interface AvailabilityWish {
  readonly account?: SessionAccount;
  readonly program?: string;
  readonly arguments?: readonly string[];
}

/** What a provider's program must see and reach inside a sandbox, beside the workspace and the system's own programs (H28). */
export interface EnclosureNeeds {
  /** Absolute paths: where the program lies with all that it loads. */
  readonly readable: readonly string[];
  /** Login and session folders of the account: what lies in them is visible to the agent (H35). */
  readonly writable: readonly string[];
  /** Names of folders in the session's state folder that it writes: the rest of that can only be read. */
  readonly state?: readonly string[];
  /** Hosts of the provider that no held key leads to: `api.example.com`. */
  readonly hosts: readonly string[];
  /**
   * Keys that the proxy can add, so that the agent never sees them: in the request's account `upstream` is then the proxy's base
   * URL, and the secret of this name only a stand-in (H35).
   */
  readonly keys: readonly ProviderKey[];
}

export interface ProviderKey {
  /** Name among the account's `secrets`. */
  readonly secret: string;
  readonly header: string;
  /** Before the key in the header's value: `Bearer `. */
  readonly prefix?: string;
  /** Base URL where the account names none. */
  readonly upstream: string;
}

/** The MCP endpoint of this Dispatch on the worker. The token is a secret. */
export interface MemberDoor {
  readonly url: string;
  readonly token: string;
}

export type Availability =
  | { readonly usable: true; readonly version?: string }
  | { readonly usable: false; readonly code: 'environment' | 'auth'; readonly reason: string; readonly fix: string };

/**
 * delivered: the running turn has it. queued: the provider keeps it for its next step, which is no delivery (I23).
 * not_running: no session that could take it. uncertain: sent, and the session ended before it answered.
 */
export type Delivery = 'delivered' | 'queued' | 'not_running' | 'uncertain';

/** Why the worker speaks to a session whose turn is over. */
export type SessionMessage =
  /** The turn ended without a handover; `count` is 1 for the first (at most `limits.handoverReminders`, D1). */
  | { readonly kind: 'reminder'; readonly count: number; readonly text: string }
  | { readonly kind: 'continuation'; readonly text: string };

export interface ProviderSession {
  /** The provider's own name of the session; undefined before its `session` event. */
  readonly ref: string | undefined;
  /**
   * One reader, which may stop and go on; ends after `exit`. Some events wait for their reader, then the provider is held up
   * (that is the back-pressure), and with it the answers to `say`, `steer` and `interrupt`: read it to the end.
   */
  readonly events: AsyncIterable<ProviderEvent>;
  /** Begin another turn in the same session. Resolves when the provider has taken it. */
  say(message: SessionMessage): Promise<Exclude<Delivery, 'queued'>>;
  /** Add to the turn that runs. */
  steer(text: string): Promise<Delivery>;
  /** End the turn that runs; a `turn_end` follows. `not_running` where no turn runs. */
  interrupt(): Promise<Exclude<Delivery, 'queued'>>;
  /** Ends the whole tree (GuardedTree.stop). No event after `exit`; capture only when it answered `empty: true`. */
  stop(options?: { readonly graceMs?: number }): Promise<TreeEnd>;
  /** Freezing, thawing and the lease. */
  readonly tree: GuardedTree;
  /** The last stderr, bounded and scrubbed of the door's token; for the log, never shown as a reason. */
  diagnostics(): string;
}

/**
 * The one port to coding agents (design of the providers). Expected failures come as events, so that a worker reads one stream:
 * `failed` before `session` means that it refused to start, `failed` after it is a failure of work that began.
 */
export interface Provider {
  readonly name: string;
  /** Whether `start` takes `resume`. */
  readonly resumes: boolean;
  /** Cheap: looks at files and versions, spends nothing. */
  availability(wish?: AvailabilityWish): Promise<Availability>;
  /** What its program needs inside a sandbox. A provider without it has no program and no model of its own. */
  enclosureNeeds?(wish: AvailabilityWish): Promise<EnclosureNeeds>;
  /**
   * Resolves when the process runs under its guardian.
   * Throws `misconfigured` (the program cannot be started) or `stale_lease` (the lease is over already).
   */
  start(request: SessionRequest): Promise<ProviderSession>;
}
