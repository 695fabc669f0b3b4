import type { Queries } from '#store';
import { accessSql } from '../sql/access.js';

/** One change of what is offered or given: what was, what is; null where there is no row (A3.10). */
export interface AccessChange {
  readonly kind: 'exposure' | 'lift' | 'grant';
  /** Whose rows: `config`, `user`, or the agent of a grant. */
  readonly owner: string;
  readonly target: string;
  readonly before: boolean | null;
  readonly after: boolean | null;
  /** A principal, or `config`. */
  readonly by: string;
}

/** Written with the change, and never changed again: the role of the controller may only insert. */
export async function noteChange(queries: Queries, change: AccessChange): Promise<void> {
  await queries.run(accessSql.noteChange, { ...change });
}
