import type { Queries } from '#store';
import type { DispatchRow } from '../rows.js';
import { teamSql } from '../sql/teams.js';
import { capabilitiesOf } from './exposure.js';

/** What the workflow gives the member of a Dispatch (I20): of the revision that it was rendered from. */
export async function grantedTo(
  queries: Queries,
  { pins }: Pick<DispatchRow, 'pins'>,
): Promise<ReturnType<typeof capabilitiesOf>> {
  const team = await queries.all(teamSql.members, { revision: pins.team_revision });
  const self = team.find(({ member }) => member === pins.member);
  return capabilitiesOf(self?.configuration ?? { id: pins.member });
}
