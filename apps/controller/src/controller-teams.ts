import { openTeams, type TeamParts, type Teams } from '#teams';

/** The team runtime of this controller. */
export function openControllerTeams(parts: TeamParts): Teams {
  return openTeams(parts);
}
