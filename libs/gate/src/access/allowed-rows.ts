import type { Database, Transaction } from '#store';
import type { Registry } from '../registry.js';
import { accessSql } from '../sql/access.js';
import { noteChange } from './changes.js';
import { canBeLifted, ceilingOf } from './exposure.js';
import { pluginOf, pluginTarget } from './targets.js';

/** What the configuration file says of exposure: `[mcp.allowed]` and `lift_never`. */
export interface AllowedFile {
  /** By name of an operation or of a plugin. */
  readonly allowed: Readonly<Record<string, boolean>>;
  /** Operations whose ceiling never becomes off; offering them needs an entry in `allowed`, too (A3.5). */
  readonly liftNever: readonly string[];
  readonly registry: Pick<Registry<never>, 'find'>;
  /** Installed ones, healthy or not: a plugin that is down has no operations, and its keys are known all the same (A3c.6). */
  readonly plugins: readonly string[];
  /** Of the file's content. */
  readonly configHash: string;
  /** Number of the file, for farms whose controllers are replaced one by one: a lower one writes nothing. Default 0. */
  readonly generation?: number;
}

interface Wanted {
  readonly settings: ReadonlyMap<string, boolean>;
  readonly lifts: ReadonlySet<string>;
  readonly warnings: readonly string[];
}

const owner = 'config';

/**
 * Makes the file's rows what the file says, in one transaction: a key that is gone takes its row with it, people's rows stay (A3c.2,
 * A3.4). Answers warnings, each naming a key that was skipped: a typo must not stop a start (A3c.3).
 */
export async function applyAllowed(database: Database, file: AllowedFile): Promise<readonly string[]> {
  const { configHash, generation = 0 } = file;
  const { settings, lifts, warnings } = read(file);
  return await database.transaction(async (tx) => {
    await tx.run(accessSql.lockToChange);
    const applied = await tx.first(accessSql.allowedFile);
    if (applied && applied.generation > generation)
      return [
        `[mcp.allowed] and lift_never of this file are not applied: it is generation ${generation}, and generation ${applied.generation} is in force`,
      ];
    await writeSettings(tx, settings);
    await writeLifts(tx, lifts);
    await tx.run(accessSql.keepAllowedFile, { generation, hash: configHash });
    const isAmbiguous = generation > 0 && applied?.generation === generation && applied.hash !== configHash;
    if (!isAmbiguous) return warnings;
    return [...warnings, `generation ${generation} was applied with another content before: raise it with each change`];
  });
}

/** Lifts first, so that an entry beside them in the same file holds (A3.6). */
function read({ allowed, liftNever, registry, plugins }: AllowedFile): Wanted {
  const warnings: string[] = [];
  const lifts = new Set<string>();
  for (const name of liftNever) {
    const operation = registry.find(name);
    if (!operation && !isOfPlugin(name, plugins)) warnings.push(`lift_never: there is no operation ${name}`);
    else if (operation && !canBeLifted(operation))
      warnings.push(`lift_never: the ceiling of ${name} can not be lifted`);
    else lifts.add(name);
  }
  const settings = new Map<string, boolean>();
  for (const [key, offered] of Object.entries(allowed)) {
    const operation = registry.find(key);
    if (operation && ceilingOf(operation, lifts) === 'never')
      warnings.push(`[mcp.allowed] ${key}: never offered over MCP, whatever is set`);
    else if (operation || isOfPlugin(key, plugins)) settings.set(key, offered);
    else if (plugins.includes(key)) settings.set(pluginTarget(key), offered);
    else warnings.push(`[mcp.allowed] ${key}: there is no such operation or plugin`);
  }
  return { settings, lifts, warnings };
}

function isOfPlugin(name: string, plugins: readonly string[]): boolean {
  const plugin = pluginOf(name);
  return plugin !== undefined && plugins.includes(plugin);
}

async function writeSettings(tx: Transaction, wanted: ReadonlyMap<string, boolean>): Promise<void> {
  const rows = await tx.all(accessSql.settings);
  const known = new Map(rows.filter((row) => row.owner === owner).map((row) => [row.target, row.offered]));
  for (const [target, before] of known) {
    if (wanted.has(target)) continue;
    await tx.run(accessSql.dropSetting, { target, owner });
    await note(tx, 'exposure', target, before, null);
  }
  for (const [target, offered] of wanted) {
    const before = known.get(target) ?? null;
    if (before === offered) continue;
    await tx.run(accessSql.putSetting, { target, owner, offered, by: owner });
    await note(tx, 'exposure', target, before, offered);
  }
}

async function writeLifts(tx: Transaction, wanted: ReadonlySet<string>): Promise<void> {
  const known = new Set((await tx.all(accessSql.lifts)).map(({ target }) => target));
  for (const target of known) {
    if (wanted.has(target)) continue;
    await tx.run(accessSql.unlift, { target });
    await note(tx, 'lift', target, true, null);
  }
  for (const target of wanted) {
    if (known.has(target)) continue;
    await tx.run(accessSql.lift, { target });
    await note(tx, 'lift', target, null, true);
  }
}

/** Every change is logged with what was and what is (A3.10). */
function note(
  tx: Transaction,
  kind: 'exposure' | 'lift',
  target: string,
  before: boolean | null,
  after: boolean | null,
): Promise<void> {
  return noteChange(tx, { kind, owner, target, before, after, by: owner });
}
