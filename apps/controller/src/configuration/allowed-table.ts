import type { SettingReader } from './setting-reader.js';
import { isTable } from './toml-file.js';

/** What `[mcp.allowed]` switches, by name of an operation or a plugin; what is said of entries that are skipped. */
export interface AllowedTable {
  readonly allowed: Readonly<Record<string, boolean>>;
  readonly warnings: readonly string[];
}

/**
 * Reads `[mcp.allowed]`. A name with a dot stands in quotes; without them TOML makes a table of its own of it, which is taken for
 * the same (A3c.4). What is neither true nor false is skipped with a warning: no slip here stops a start (A3c.3, A3c.5).
 */
export function readAllowed(reader: SettingReader): AllowedTable {
  reader.leave('mcp.allowed');
  const table = reader.find('mcp.allowed');
  if (table === undefined) return { allowed: {}, warnings: [] };
  if (!isTable(table)) {
    reader.problems.push(`${reader.where('mcp.allowed')} must be a table of names and true or false`);
    return { allowed: {}, warnings: [] };
  }
  const entries = Object.entries(table).flatMap(([name, value]) =>
    isTable(value)
      ? Object.entries(value).map(([inner, on]) => [`${name}.${inner}`, on] as const)
      : [[name, value] as const],
  );
  const allowed: Record<string, boolean> = {};
  const warnings: string[] = [];
  for (const [name, on] of entries) {
    if (typeof on === 'boolean') allowed[name] = on;
    else warnings.push(`${reader.where(`mcp.allowed.${name}`)} is neither true nor false and is skipped`);
  }
  return { allowed, warnings };
}
