import { newCommandId } from '#contracts';
import type { Queries } from '#store';
import type { TeamParts } from '../parts.js';
import { commandRunSql } from '../sql/teams.js';
import { unusedId } from '../unused-id.js';

/** A name that no Command Run of the farm has. */
export function nameRun(
  { drawCommandId = newCommandId }: Pick<TeamParts, 'drawCommandId'>,
  tx: Queries,
): Promise<string> {
  return unusedId(drawCommandId, async (name) => (await tx.first(commandRunSql.taken, { name })) === undefined);
}
