import { isAbsolute } from 'node:path';
import { z } from 'zod';
import { limits } from '#contracts';
import { PluginName } from '#gate';
import type { SettingReader } from './setting-reader.js';
import type { PluginSettings } from './settings.js';
import { isTable } from './toml-file.js';

const PluginTable = z.strictObject({
  command: z.array(z.string().min(1)).min(1),
  reads: z.array(z.string().refine((path) => isAbsolute(path))).default([]),
  network: z.boolean().default(false),
  timeout_seconds: z
    .int()
    .min(1)
    .max(limits.pluginTimeoutMostSeconds)
    .default(limits.pluginTimeoutMs / 1000),
});

const rules: Readonly<Record<string, string>> = {
  command: 'must be a list of texts: the program and its arguments, files by absolute path',
  reads: 'must be a list of absolute paths',
  network: 'must be true or false',
  timeout_seconds: `must be a whole number from 1 to ${limits.pluginTimeoutMostSeconds}`,
};

/** Reads the tables `[plugins.<name>]`. What does not hold is a problem, by key and never with a value. */
export function readPlugins(reader: SettingReader): readonly PluginSettings[] {
  const tables = reader.find('plugins');
  if (tables === undefined) return [];
  if (!isTable(tables)) {
    reader.problems.push(`${reader.where('plugins')} must be a table for each plugin: [plugins.<name>]`);
    return [];
  }
  return Object.entries(tables).flatMap(([name, table]) => readPlugin(reader, name, table));
}

function readPlugin(reader: SettingReader, name: string, table: unknown): readonly PluginSettings[] {
  const key = `plugins.${name}`;
  reader.leave(key);
  const refuse = (what: string): void => void reader.problems.push(`${reader.where(key)} ${what}`);
  const read = PluginTable.safeParse(table);
  if (!PluginName.safeParse(name).success) refuse('is no name of a plugin: lower case, digits and underscores');
  if (!read.success) {
    for (const issue of read.error.issues) refuse(problemOf(issue));
    return [];
  }
  const { command, reads, network, timeout_seconds } = read.data;
  return [{ name, command, reads, network, timeoutMs: timeout_seconds * 1000 }];
}

function problemOf(issue: z.core.$ZodIssue): string {
  const [field] = issue.path.map(String);
  if (field !== undefined && Object.hasOwn(rules, field)) return `${field} ${rules[field]}`;
  return `has keys that are no settings of a plugin; there are ${Object.keys(rules).join(', ')}`;
}
