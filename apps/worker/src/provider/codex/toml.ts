/** What a setting of Codex may be. */
export type Setting = string | number | boolean | readonly Setting[] | { readonly [key: string]: Setting };

/** A value as TOML, for `-c key=value`. JSON's strings are TOML's basic strings but for the delete character. */
export function toml(value: Setting): string {
  if (typeof value === 'string') return JSON.stringify(value).replaceAll('\u007f', '\\u007f');
  if (typeof value !== 'object') return String(value);
  if (isList(value)) return `[${value.map(toml).join(', ')}]`;
  return `{${Object.entries(value)
    .map(([key, part]) => `${toml(key)} = ${toml(part)}`)
    .join(', ')}}`;
}

/** Arguments of the command line for settings by their dotted names. */
export function settingArgs(settings: Readonly<Record<string, Setting>>): readonly string[] {
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${toml(value)}`]);
}

function isList(value: Setting): value is readonly Setting[] {
  return Array.isArray(value);
}
