import { type Database, type Queries, sentTogether, type Transaction } from '#store';
import { accessSql } from '../sql/access.js';
import { type AccessRows, type Settings, settingsOf } from './access-rows.js';
import { type Asker, type Exposed, exposureOf } from './exposure.js';

/** Between step 1 and its transaction the operation was taken from the caller: nothing is done (A4.10). */
export class Withdrawn extends Error {
  override readonly name = 'Withdrawn';
}

/** Reads what step 1 is decided by. */
export interface AccessSource {
  /**
   * What is in force for this caller: over MCP read now; at the node door as it was read last, since `stillOffered` looks again in
   * the call's own transaction and no call of a worker may wait for a reading of its own; for people nothing, as nothing applies.
   */
  snapshot(asker: Asker): Promise<AccessRows>;
  /** Read now, whoever asks. */
  readNow(asker: Asker): Promise<AccessRows>;
  /**
   * Inside the transaction that changes something: step 1 again, by rows that can not change before the commit. Sends its first
   * statements at once. Errors: Withdrawn.
   */
  stillOffered(tx: Transaction, operation: Exposed, asker: Asker, judged: AccessRows): Promise<void>;
  /** The same for calls of workers that share a transaction. Errors: Withdrawn when any of them is in doubt. */
  stillJudged(tx: Transaction, judged: readonly AccessRows[]): Promise<void>;
}

interface Remembered {
  readonly version: number;
  readonly settings: Settings;
}

const nothing: AccessRows = { version: 0, settings: settingsOf([], []), grants: new Set(), enabled: true };
const noGrants: ReadonlySet<string> = new Set();

export function openAccess(database: Database): AccessSource {
  return new DatabaseAccess(database);
}

class DatabaseAccess implements AccessSource {
  /** Keyed by the version, which is read per call or within the call's transaction (A3.12). */
  private remembered: Remembered | undefined;
  /** The first reading for workers: those that come together wait for one. */
  private first: Promise<AccessRows> | undefined;

  constructor(private readonly database: Database) {}

  async snapshot(asker: Asker): Promise<AccessRows> {
    if (!applies(asker)) return nothing;
    if (asker.door !== 'node') return await this.read(this.database, asker);
    if (this.remembered) return { ...this.remembered, grants: noGrants, enabled: true };
    this.first ??= this.read(this.database, asker).finally(() => {
      this.first = undefined;
    });
    return await this.first;
  }

  readNow(asker: Asker): Promise<AccessRows> {
    return this.read(this.database, asker);
  }

  async stillOffered(tx: Transaction, operation: Exposed, asker: Asker, judged: AccessRows): Promise<void> {
    if (!applies(asker)) return;
    if (asker.door === 'node' && (await isOfVersion(tx, judged.version))) return;
    const [, rows] = await sentTogether([asker.door === 'mcp' && tx.run(accessSql.lockToCall), this.read(tx, asker)]);
    if (exposureOf(operation, asker, rows) !== 'offered') throw new Withdrawn();
  }

  async stillJudged(tx: Transaction, judged: readonly AccessRows[]): Promise<void> {
    const row = await tx.first(accessSql.version);
    if (judged.some(({ version }) => version !== row?.version)) throw new Withdrawn();
  }

  private async read(queries: Queries, { principal }: Asker): Promise<AccessRows> {
    const known = this.remembered;
    const agent = principal.kind === 'agent' ? principal.id : null;
    const row = await queries.first(accessSql.rows, { known: known?.version ?? -1, agent });
    if (!row) throw new TypeError('the farm has no row of its own');
    const { version, enabled } = row;
    const settings = row.settings && row.lifted ? settingsOf(row.settings, row.lifted) : known?.settings;
    if (!settings) throw new TypeError('settings of an unknown version');
    if (version !== known?.version) this.remembered = { version, settings };
    return { version, settings, enabled, grants: new Set(row.grants) };
  }
}

async function isOfVersion(tx: Transaction, version: number): Promise<boolean> {
  return (await tx.first(accessSql.version))?.version === version;
}

/** Exposure is an affair of MCP and of the node door (A3.11, A4.4). */
function applies({ door }: Asker): boolean {
  return door === 'mcp' || door === 'node';
}
