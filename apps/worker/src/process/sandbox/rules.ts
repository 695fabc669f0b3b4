import type { Enclosure } from '../guarded-tree.js';

/**
 * How strong the walls are, weakest first.
 *
 *  none     the agent is a program of the machine's owner like any other
 *  process  a process group and an environment of its own, limits; no walls around files and the network
 *  bwrap    namespaces by bubblewrap: it sees the files that are named, no other process, and no network but our proxy (H28)
 */
export const sandboxRungs = ['none', 'process', 'bwrap'] as const;
export type SandboxRung = (typeof sandboxRungs)[number];

/** What one session may reach. Paths are absolute; what is not named is not there at the rung `bwrap`. */
export interface SandboxRules {
  readonly rung: SandboxRung;
  readonly workspace: string;
  /** The workspace can be read only (`read_only` of a workflow). */
  readonly readOnlyWorkspace?: boolean;
  /** The adapter's own folder outside the workspace, 0700: what the worker lays there can be read inside, and not changed. */
  readonly stateFolder: string;
  /** Names of folders in it that the session's program keeps its login and its memory in: made, and writable inside. */
  readonly stateWritable?: readonly string[];
  /**
   * Where the sandbox keeps its own: it is made, 0700, in a folder that is there. Beneath nothing that can be written inside: what
   * an agent could put in its place, the next opening of the same folder would mount (E2).
   */
  readonly ownFolder: string;
  readonly readable: readonly string[];
  readonly writable: readonly string[];
  /** Places of the workspace that can be read only; what is not there is no place. */
  readonly sealed?: readonly string[];
  /** Covered where a readable or writable folder holds them: data folder, other workspaces, caches. */
  readonly hidden: readonly string[];
  readonly egress: EgressRules;
  readonly limits?: Partial<SandboxLimits>;
  /** Held by the proxy, so that the agent never sees them (H35). */
  readonly keys: readonly HeldKey[];
  /** The member door is served on the socket `socketNames.memberDoor` in `ownFolder`; inside it is reached at `memberDoorPort` (H34). */
  readonly memberDoor?: boolean;
  /** A host was refused: its name, for the log. */
  readonly onRefusedHost?: (host: string) => void;
}

export interface EgressRules {
  /** `host`, `host:port`, `*.domain`, or `*` for every public host. Ports 80 and 443 where none is named. */
  readonly hosts: readonly string[];
  /** Names that may stand for private addresses, by the word of the machine's owner. */
  readonly privateHosts?: readonly string[];
}

/** A key that the proxy adds to what is sent to its upstream. */
export interface HeldKey {
  /** Base URL of the API, `https://api.example.com/v1`. */
  readonly upstream: string;
  readonly header: string;
  /** The header's whole value. Secret. */
  readonly value: string;
}

export interface SandboxLimits {
  /** Processes and threads at once. */
  readonly pids: number;
  /** Together where a cgroup can be had, else each process. */
  readonly memoryBytes: number;
  /** Processors; only a cgroup holds it, else the priority is lowered. */
  readonly cpus: number;
}

export interface Sandbox {
  readonly rung: SandboxRung;
  readonly enclosure: Enclosure;
  /** Laid over the session's environment: proxy variables, HOME and TMPDIR as they are inside. No secret at the rung `bwrap`. */
  readonly environment: Readonly<Record<string, string>>;
  /** Where the upstream of each held key is found inside, by the upstream that the rules name. */
  readonly upstreams: Readonly<Record<string, string>>;
  /** After the tree is gone. */
  close(): Promise<void>;
}

/** Where a session finds the member door and our proxy inside: its network is its own, so the numbers are free. */
export const memberDoorPort = 47_180;
export const egressPort = 47_181;
