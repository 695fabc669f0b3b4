import { FarmError } from '#contracts';
import type { Queries, Transaction } from '#store';
import type { Registry } from '../registry.js';
import { accessSql } from '../sql/access.js';
import { type Setting, type Settings, settingsOf } from './access-rows.js';
import { noteChange } from './changes.js';
import { ceilingOf, type Exposed, isOffered } from './exposure.js';
import { targetsOf } from './targets.js';

/** What a person wants of a target; null leaves it to the file and the code. */
type Wish = boolean | null;

export interface ExposureChange {
  readonly target: string;
  readonly before: Wish;
  readonly after: Wish;
  /** Operations of the target that are offered with it. */
  readonly offered: readonly string[];
}

interface SettingRow extends Setting {
  readonly changed_by: string;
  readonly changed_at: Date;
}

interface ExposureView {
  readonly operation: Exposed;
  readonly offered: boolean;
  readonly lifted: boolean;
  readonly why: string;
}

type Known = Pick<Registry<never>, 'all'>;

/** What `setExposure` would do; writes nothing. Errors as that. */
export async function previewExposure(
  queries: Queries,
  target: string,
  after: Wish,
  registry: Known,
): Promise<ExposureChange> {
  const operations = operationsOf(target, registry);
  const rows = await queries.all(accessSql.settings);
  const lifted = await liftedNow(queries);
  // Below every ceiling there is no way up (A3.2).
  if (after === true && operations.every((operation) => ceilingOf(operation, lifted) === 'never'))
    throw new FarmError('above_ceiling', 'It is never offered over MCP, whatever is set', {
      hint: 'Who may write the configuration file may lift the ceiling: lift_never.',
    });
  const others = rows.filter((row) => row.owner !== 'user' || row.target !== target);
  const mine: readonly Setting[] = after === null ? [] : [{ target, owner: 'user', offered: after }];
  const settings = settingsOf([...others, ...mine], [...lifted]);
  const before = rows.find((row) => row.owner === 'user' && row.target === target)?.offered ?? null;
  const offered = operations.filter((operation) => isOffered(operation, settings)).map(({ name }) => name);
  return { target, before, after, offered };
}

/**
 * A person's row beside the file's, which outlives the next start (A3.4), with its log entry (A3.10). Errors: FarmError
 * unknown_operation; above_ceiling for raising what is never offered (A3.2).
 */
export async function setExposure(
  tx: Transaction,
  target: string,
  after: Wish,
  by: string,
  registry: Known,
): Promise<ExposureChange> {
  await tx.run(accessSql.lockToChange);
  const change = await previewExposure(tx, target, after, registry);
  const { before } = change;
  if (before === after) return change;
  if (after === null) await tx.run(accessSql.dropSetting, { target, owner: 'user' });
  else await tx.run(accessSql.putSetting, { target, owner: 'user', offered: after, by });
  await noteChange(tx, { kind: 'exposure', owner: 'user', target, before, after, by });
  return change;
}

/** Every operation that agents could see, or those of a target, with the reason (A3.4). Errors: FarmError unknown_operation. */
export async function listExposure(
  queries: Queries,
  registry: Known,
  target?: string,
): Promise<{ readonly operations: readonly ExposureView[]; readonly settings: readonly SettingRow[] }> {
  const operations = target === undefined ? registry.all.filter(isEverReached) : operationsOf(target, registry);
  const rows = await queries.all(accessSql.settings);
  const lifted = await liftedNow(queries);
  const settings = settingsOf(rows, [...lifted]);
  const targets = new Set(operations.flatMap(({ name }) => targetsOf(name)));
  return {
    operations: operations.map((operation) => ({
      operation,
      offered: isOffered(operation, settings),
      lifted: ceilingOf(operation, lifted) !== operation.access.ceiling,
      why: whyOf(operation, rows, settings),
    })),
    settings: target === undefined ? rows : rows.filter((row) => targets.has(row.target)),
  };
}

function whyOf(operation: Exposed, rows: readonly Setting[], settings: Settings): string {
  const ceiling = ceilingOf(operation, settings.lifted);
  const about = rows.filter((row) => targetsOf(operation.name).includes(row.target));
  const named = (offered: boolean) =>
    about
      .filter((row) => row.offered === offered)
      .map((row) => `${row.owner} has ${row.target} ${offered ? 'on' : 'off'}`);
  const [downs, ups] = [named(false), named(true)];
  if (ceiling === 'never') return 'never offered over MCP';
  if (downs.length > 0) return ups.length > 0 ? `${downs.join(', ')}; off outweighs on` : downs.join(', ');
  if (ups.length > 0) return ups.join(', ');
  return ceiling === 'on' ? 'on by default' : 'off until it is turned on';
}

/** Members' operations are no affair of MCP; a worker meets their rows all the same (A4.4). */
function isEverReached({ access }: Exposed): boolean {
  return access.catalogue !== 'member';
}

function operationsOf(target: string, registry: Known): readonly Exposed[] {
  const operations = registry.all.filter(({ name }) => targetsOf(name).includes(target));
  if (operations.length > 0) return operations;
  throw new FarmError('unknown_operation', 'There is no operation or plugin of this name', {
    hint: 'longshore exposure list shows them.',
  });
}

async function liftedNow(queries: Queries): Promise<ReadonlySet<string>> {
  return new Set((await queries.all(accessSql.lifts)).map(({ target }) => target));
}
