/** JSON Schema 2020-12. An input is an object with `additionalProperties: false`; say formats, not patterns. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** A person, an agent, or the farm itself. */
export type Caller = 'user' | 'agent' | 'system';

/** What the host tells of a call; nothing else of the farm is in reach. */
export interface PluginCall {
  readonly caller: Caller;
  /** The time is over, or the caller has gone: stop. A plugin that does not is ended. */
  readonly signal: AbortSignal;
  /** A folder of the plugin's own that outlives it: the one place where it may write. */
  readonly state: string;
}

/** What a mutation would change; the same input and state answer the same list. */
export interface PluginPreview {
  readonly summary: string;
  readonly changes: readonly { readonly id: string; readonly before: unknown; readonly after: unknown }[];
}

type Input = Readonly<Record<string, unknown>>;

export interface PluginOperation {
  /** One line. */
  readonly summary: string;
  /** `mutate` needs a preview, unless agents can never reach it. */
  readonly class: 'read' | 'mutate';
  /** Most that agents may be offered. No plugin is offered to them before an admin turns it on. Default: off. */
  readonly ceiling?: 'off' | 'never';
  readonly input: JsonSchema;
  readonly output: JsonSchema;
  preview?(input: Input, call: PluginCall): PluginPreview | Promise<PluginPreview>;
  /** The input fits its schema, with defaults filled in. Of what it throws only the error's name is told to anybody. */
  run(input: Input, call: PluginCall): unknown;
}

export interface Plugin {
  readonly version: string;
  /** By name, without the plugin's: words of lower case joined by underscores. */
  readonly operations: Readonly<Record<string, PluginOperation>>;
}
