import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { ShownSetting } from '#contracts';
import type { Secret, Setting } from './setting.js';
import { isTable, type TomlFile } from './toml-file.js';

/** Takes settings out of environment and file, the environment first, and gathers what does not hold. */
export class SettingReader {
  /** One sentence each, with where and the way out; never a value. */
  readonly problems: string[] = [];
  readonly shown: ShownSetting[] = [];
  private readonly known = new Set<string>();

  constructor(
    private readonly environment: NodeJS.ProcessEnv,
    private readonly file: TomlFile | undefined,
  ) {}

  /** The value, or the default where none holds: then there is a problem. */
  read<T>(setting: Setting<T>): T {
    const { key, variable, initial } = setting;
    this.known.add(key);
    const said = this.variable(variable);
    if (said !== undefined) return this.take(setting, setting.fromText(said), 'environment', variable);
    const found = this.find(key);
    if (found !== undefined) return this.take(setting, found, 'file', this.where(key));
    this.show(setting, initial, 'default');
    return initial;
  }

  /** The text of a secret, from the environment or from the file that one of both names. */
  async readSecret({ key, variable, fileVariable }: Secret): Promise<string | undefined> {
    this.known.add(key);
    const said = this.variable(variable);
    const fileSaid = this.variable(fileVariable);
    const found = said ?? fileSaid ?? this.find(key);
    const source =
      found === undefined ? 'default' : said !== undefined || fileSaid !== undefined ? 'environment' : 'file';
    this.shown.push({ key, variable, source, value: null, secret: true });
    if (said !== undefined || found === undefined) return said;
    const place = source === 'environment' ? fileVariable : this.where(key);
    if (typeof found === 'string')
      return (await this.readNamed(place, source === 'file' ? this.fromFolder(found) : found))?.trim();
    this.problems.push(`${place} must be the name of a file`);
    return undefined;
  }

  /** The path that a setting names; in the file, from the folder of the file. */
  readPath(setting: Setting<string | undefined>): string | undefined {
    const path = this.read(setting);
    return path !== undefined && this.isFromFile(setting) ? this.fromFolder(path) : path;
  }

  /** The text of a file that a setting names. */
  async readFileOf(setting: Setting<string | undefined>): Promise<string | undefined> {
    const path = this.readPath(setting);
    return path === undefined ? undefined : await this.readNamed(this.placeOf(setting), path);
  }

  /** Where somebody looks for what a setting says now: its variable, or its line in the file. */
  placeOf({ key, variable }: Pick<Setting<unknown>, 'key' | 'variable'>): string {
    return this.variable(variable) !== undefined || this.find(key) === undefined ? variable : this.where(key);
  }

  isFromFile({ key, variable }: Pick<Setting<unknown>, 'key' | 'variable'>): boolean {
    return this.variable(variable) === undefined && this.find(key) !== undefined;
  }

  /** Keys of the file that nobody asked for: a slip there would be a silent default (A3c.5). */
  refuseUnknown(): void {
    for (const [name, content] of Object.entries(this.file?.content ?? {})) {
      const keys = isTable(content) ? Object.keys(content).map((key) => `${name}.${key}`) : [name];
      for (const key of keys.filter((each) => !this.known.has(each)))
        this.problems.push(`${this.where(key)} is no setting; ${this.alternatives(name)}`);
    }
  }

  /** A key that is read by somebody else. */
  leave(key: string): void {
    this.known.add(key);
  }

  find(key: string): unknown {
    const [table = '', name] = key.split('.');
    const content = this.file?.content;
    if (content === undefined || !Object.hasOwn(content, table)) return undefined;
    const value = content[table];
    if (name === undefined) return value;
    return isTable(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  }

  /** `longshore.toml:4: operations.confirm_ttl_seconds`. */
  where(key: string): string {
    const { path = '', lines } = this.file ?? {};
    const line = lines?.get(key);
    return `${path}${line === undefined ? '' : `:${line}`}: ${key}`;
  }

  private take<T>(setting: Setting<T>, given: unknown, source: 'environment' | 'file', place: string): T {
    const parsed = setting.value.safeParse(given);
    if (!parsed.success) {
      this.problems.push(`${place} must be ${setting.rule}${wayOut(setting.initial)}`);
      return setting.initial;
    }
    this.show(setting, parsed.data, source);
    return parsed.data;
  }

  private show<T>({ key, variable, shown }: Setting<T>, value: T, source: ShownSetting['source']): void {
    const display = value === undefined ? null : shown ? shown(value) : showable(value);
    this.shown.push({ key, variable, source, value: display, secret: false });
  }

  /** The text of a file; where it can not be read that is a problem of `place`. */
  async readNamed(place: string, path: string): Promise<string | undefined> {
    try {
      return await readFile(path, 'utf8');
    } catch {
      this.problems.push(`The file that ${place} names can not be read`);
      return undefined;
    }
  }

  private fromFolder(path: string): string {
    return resolve(dirname(this.file?.path ?? ''), path);
  }

  private variable(name: string): string | undefined {
    return this.environment[name] || undefined;
  }

  private alternatives(table: string): string {
    const keys = [...this.known].filter((key) => key.startsWith(`${table}.`)).map((key) => key.slice(table.length + 1));
    if (keys.length > 0) return `[${table}] has ${keys.join(', ')}`;
    const tables = new Set([...this.known].filter((key) => key.includes('.')).map((key) => key.split('.')[0])).add(
      'plugins',
    );
    return `the tables are ${[...tables].join(', ')}`;
  }
}

function wayOut(initial: unknown): string {
  return typeof initial === 'string' || typeof initial === 'number' || typeof initial === 'boolean'
    ? `; without it ${initial} holds`
    : '';
}

function showable(value: unknown): ShownSetting['value'] {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  return Array.isArray(value) ? value.map(String) : null;
}
