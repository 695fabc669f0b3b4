import type { ShownSetting } from '#contracts';

/** Where this controller listens, what it uses, where it keeps things, and what it lets happen. */
export interface Settings {
  readonly databaseUrl: string;
  /** The role that owns the schema; absent: somebody else migrates. */
  readonly databaseOwnerUrl: string | undefined;
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  /** Where workers and people reach it, when that is not where it listens. */
  readonly publicUrl: string | undefined;
  /** Whose word about a caller's address is taken. */
  readonly trustedProxies: readonly string[];
  readonly logLevel: string;
  /** Keys, the Tasks' stores, objects; shared by all controllers (D23). */
  readonly data: string;
  readonly leaseMs: number;
  /** Age at which the signing keys are rotated; 0: only by hand. */
  readonly keyRotationDays: number;
  readonly nats: NatsSettings | undefined;
  /** What an admin opens to the sources of Tasks; nothing beside the hosts of the internet by default (H30). */
  readonly sources: SourceSettings;
  readonly operations: OperationSettings;
  readonly api: ApiSettings;
  readonly mcp: McpSettings;
  readonly plugins: readonly PluginSettings[];
  readonly configuration: Configuration;
}

interface SourceSettings {
  readonly privateHosts: readonly string[];
  readonly roots: readonly string[];
  readonly caFile?: string;
}

export interface NatsSettings {
  readonly url: string;
  /** Text of the controller's credentials file. */
  readonly creds: string | undefined;
  /** Signs the workers' users; absent: workers get none and poll (H23). */
  readonly accountSeed: string | undefined;
}

/** `[operations]` (A3c.8). */
interface OperationSettings {
  readonly confirmTtlSeconds: number;
  readonly maxPendingConfirmations: number;
  readonly proposalChangesShown: number;
  /** Operations whose ceiling `never` becomes `off` (A3.5). */
  readonly liftNever: readonly string[];
}

/** `[api]` (A3c.8). */
interface ApiSettings {
  /** Of one person or agent, at one controller; 0: no limit. */
  readonly callsPerMinute: number;
  /** From one address, by whoever asks for a credential; 0: no limit. */
  readonly signInsPerMinute: number;
  /** Whether people's assistants find a door at /mcp (A3c.9). */
  readonly mcpEnabled: boolean;
  readonly mcpMaxResultBytes: number;
}

interface McpSettings {
  /** `[mcp.allowed]`: owns its rows (A3c.2). */
  readonly allowed: Readonly<Record<string, boolean>>;
}

/** `[plugins.<name>]`. */
export interface PluginSettings {
  readonly name: string;
  /** Program and arguments; `node` is the controller's own. */
  readonly command: readonly string[];
  /** Folders that it may read beside the system's programs and the folders of its own files. */
  readonly reads: readonly string[];
  /** Whether it may reach the network. */
  readonly network: boolean;
  /** Of one call. */
  readonly timeoutMs: number;
}

/** Where the settings came from. */
interface Configuration {
  /** Where it was looked for. */
  readonly path: string;
  readonly found: boolean;
  /** Of what all controllers of a farm share: equal on two that run alike. Hex. */
  readonly hash: string;
  /** Counts up with each change, where several controllers run: an older one never overwrites rows of a newer (A3c.7). */
  readonly generation: number;
  readonly settings: readonly ShownSetting[];
  readonly warnings: readonly string[];
}
