import type { MemberCapabilities } from '#contracts';
import { type Queries, sentTogether } from '#store';
import { asJson } from '../as-json.js';
import type { Standing } from '../handover/handover-rule.js';
import type { PlannedMember } from '../replan/change-team.js';
import type { MemberConfiguration, Pins, TaskRow, TeamMemberRow } from '../rows.js';
import { assignmentSql, teamSql } from '../sql/teams.js';
import { ceilingOf, grantsOf } from './exposure.js';

/** A direct child, as its parent sees it. */
export interface DirectTeammate {
  readonly id: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly instruction?: string | undefined;
  readonly provider: string;
  readonly capabilities: MemberCapabilities | null;
  /** required: there is no green of the child and its branch as they are now (I8). */
  readonly participation: 'required' | 'satisfied';
  /** busy: it has an open Assignment (I2). */
  readonly availability: 'available' | 'busy';
}

/** The direct team of a member whose Dispatch has these pins. */
export async function directTeam(
  queries: Queries,
  task: TaskRow,
  team: readonly TeamMemberRow[],
  { team_revision: pinned, member }: Pick<Pins, 'team_revision' | 'member'>,
): Promise<readonly DirectTeammate[]> {
  const children = team.filter((row) => row.parent === member);
  if (children.length === 0) return [];
  const current = task.team_revision ?? pinned;
  const [unproven, open] = await sentTogether([
    queries.all(teamSql.unproven, { task: task.id, pinned, current, member }),
    queries.all(assignmentSql.openOf, { task: task.id }),
  ]);
  const [required, busy] = [new Set(unproven.map(({ member }) => member)), new Set(open.map(({ member }) => member))];
  return children.map((row) => teammate(task, row, { required: required.has(row.member), busy: busy.has(row.member) }));
}

/** What a change of the team would make of its author's place: what changes has to be proven anew. */
export async function foreseeTeam(
  queries: Queries,
  { task, dispatch }: Pick<Standing, 'task' | 'dispatch'>,
  before: readonly TeamMemberRow[],
  planned: readonly PlannedMember[],
) {
  const { member } = dispatch.pins;
  const self = planned.find((row) => row.member === member);
  if (!self) throw new Error('a change took its author out of the team');
  const known = await directTeam(queries, task, before, {
    ...dispatch.pins,
    team_revision: task.team_revision ?? dispatch.pins.team_revision,
  });
  const children = planned.filter((row) => row.parent === member);
  const team = children.map((row) => {
    const now = known.find(({ id }) => id === row.member);
    const required = row.basis_id === null || row.config_id === null || now?.participation !== 'satisfied';
    return teammate(task, row, { required, busy: now?.availability === 'busy' });
  });
  const manages = children.length > 0;
  const grants = grantsOf(dispatch.pins, self.configuration);
  return {
    direct_team: team.map(asJson),
    behavior: manages ? ('manager' as const) : ('contributor' as const),
    effective_capabilities: { ...grants, human_request: [...grants.human_request] },
    available_actions: availableOf(ceilingOf({ manages, grants }), team),
  };
}

/** Of what a member may ever call, what is legal now (§3.4 of the team rules). */
export function availableOf(ceiling: readonly string[], team: readonly DirectTeammate[]): string[] {
  const someone = team.some(({ availability }) => availability === 'available');
  return ceiling.filter((name) => name !== 'delegate' || someone);
}

function teammate(
  task: TaskRow,
  { member, configuration }: Pick<TeamMemberRow, 'member' | 'configuration'>,
  { required, busy }: { readonly required: boolean; readonly busy: boolean },
): DirectTeammate {
  return {
    ...proseOf(configuration),
    id: member,
    provider: configuration.provider?.kind ?? task.settings.default_provider,
    capabilities: configuration.capabilities ?? null,
    participation: required ? 'required' : 'satisfied',
    availability: busy ? 'busy' : 'available',
  };
}

interface Prose {
  title?: string;
  description?: string;
  instruction?: string;
}

export function proseOf({ title, description, instruction }: MemberConfiguration): Prose {
  return {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(instruction === undefined ? {} : { instruction }),
  };
}
