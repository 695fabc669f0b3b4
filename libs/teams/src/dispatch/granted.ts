import type { Queries } from '#store';
import type { DispatchRow, Grants } from '../rows.js';
import { teamSql } from '../sql/teams.js';
import { grantsOf } from './exposure.js';

/** What the member of a Dispatch may ask for (I20): of the revision that it was rendered from. */
export async function grantedTo(queries: Queries, { pins }: Pick<DispatchRow, 'pins'>): Promise<Grants> {
  const team = await queries.all(teamSql.members, { revision: pins.team_revision });
  const self = team.find(({ member }) => member === pins.member);
  return grantsOf(pins, self?.configuration ?? { id: pins.member });
}
