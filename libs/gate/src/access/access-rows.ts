/** Whose rows: the configuration file's, rewritten at each start, and people's, which outlive it (A3.4). */
export type SettingOwner = 'config' | 'user';

/** A row of `operation_settings`. */
export interface Setting {
  readonly target: string;
  readonly owner: SettingOwner;
  readonly offered: boolean;
}

/** All settings, by what they do to a target: one owner's no outweighs the other's yes (A3.3). */
export interface Settings {
  readonly lowered: ReadonlySet<string>;
  readonly raised: ReadonlySet<string>;
  /** Ceilings that the file has lifted from never to off (A3.5). */
  readonly lifted: ReadonlySet<string>;
}

/** What step 1 reads of the database: one snapshot of it (A3.12, A4.6). */
export interface AccessRows {
  /** Rises with every change of the settings. */
  readonly version: number;
  readonly settings: Settings;
  /** Of the agent that asks: operations by name, and `plugin:<name>`. */
  readonly grants: ReadonlySet<string>;
  /** False for an agent that is disabled or revoked; true for whoever is no agent (A12.12). */
  readonly enabled: boolean;
}

export function settingsOf(rows: readonly Setting[], lifted: readonly string[]): Settings {
  const targets = (offered: boolean) => new Set(rows.filter((row) => row.offered === offered).map((row) => row.target));
  return { lowered: targets(false), raised: targets(true), lifted: new Set(lifted) };
}
