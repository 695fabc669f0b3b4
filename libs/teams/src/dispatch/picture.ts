import { z } from 'zod';
import type { getCurrentContext, OutputOf } from '#contracts';
import { type Queries, sentTogether } from '#store';
import type { AssignmentRow, Continuation, MemberConfiguration, Pins, TaskRow, TeamMemberRow } from '../rows.js';
import { assignmentSql, teamSql, workflowSql } from '../sql.js';

type Context = OutputOf<typeof getCurrentContext>;

/** What a member sees of where it is; `observed_at` is added where it is read. */
export type Picture = Omit<Context, 'observed_at' | 'direct_team'> & {
  readonly direct_team: readonly DirectTeammate[];
  /** The workflow's note to all members. */
  readonly note: string | null;
  readonly team: readonly TeamMemberRow[];
};

interface DirectTeammate {
  readonly id: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly instruction?: string | undefined;
  readonly provider: string;
  readonly participation: 'required' | 'satisfied';
  readonly availability: 'available' | 'busy';
}

/** What each member may always call; more comes with the grants and the features that need them. */
const memberActions = ['get_current_context', 'set_work_plan', 'checkpoint'] as const;

interface Wanted {
  readonly task: TaskRow;
  readonly assignment: AssignmentRow;
  readonly dispatch: { readonly id: string; readonly attempt: number };
  readonly pins: Pins;
  readonly continuation: Continuation | null;
}

/** One coherent reading of the Task as one member stands in it. */
export async function drawPicture(
  tx: Queries,
  { task, assignment, dispatch, pins, continuation }: Wanted,
): Promise<Picture> {
  const [team, note] = await sentTogether([
    tx.all(teamSql.members, { revision: pins.team_revision }),
    readNote(tx, task),
  ]);
  const self = team.find((row) => row.member === pins.member);
  if (!self) throw new Error('the pinned revision does not hold the member');
  const directory = taskDirectory(task.id);
  return {
    task: { id: task.id, workflow_id: task.workflow },
    dispatch: { id: dispatch.id, attempt_id: `${assignment.id}.${dispatch.attempt}`, assignment_id: assignment.id },
    current_member: {
      ...proseOf(self.configuration),
      id: self.member,
      ...(self.parent === null ? { position: 'task_lead' as const } : {}),
      behavior: team.some((row) => row.parent === self.member) ? 'manager' : 'contributor',
      provider: definedOnly(pins.provider),
      // Effective is what is authored and what the farm can do: neither can be served yet, so neither is given (I20).
      effective_capabilities: { human_request: [], command_run: 'deny' },
    },
    assignment: { id: assignment.id, prompt: assignment.prompt, files: [...assignment.files] },
    steering: [],
    continuation: continuation === null ? null : z.json().parse(JSON.parse(JSON.stringify(continuation))),
    direct_team: await directTeam(tx, task, team, pins),
    work_plan: assignment.plan,
    available_actions: [...memberActions],
    workspace: {
      root: '.',
      task_directory: directory,
      manifest: `${directory}/manifest.md`,
      workflow_note: note === null ? null : `${directory}/workflow-note.md`,
      notes: `${directory}/notes/${self.member}`,
      artifacts: `${directory}/artifacts/${self.member}`,
      command_runs: `${directory}/command-runs`,
    },
    note,
    team,
  };
}

/** H21: the one folder of ours in a workspace, left out of what is captured but for notes and artifacts. */
export function taskDirectory(task: string): string {
  return `.longshore/${task}`;
}

async function directTeam(
  tx: Queries,
  task: TaskRow,
  team: readonly TeamMemberRow[],
  pins: Pins,
): Promise<readonly DirectTeammate[]> {
  const children = team.filter((row) => row.parent === pins.member);
  if (children.length === 0) return [];
  const current = task.team_revision ?? pins.team_revision;
  const [unproven, assignments] = await sentTogether([
    tx.all(teamSql.unproven, { task: task.id, pinned: pins.team_revision, current, member: pins.member }),
    tx.all(assignmentSql.ofTask, { task: task.id }),
  ]);
  const busy = assignments.filter((row) => row.closed_at === null);
  return children.map((row) => ({
    ...proseOf(row.configuration),
    id: row.member,
    provider: row.configuration.provider?.kind ?? task.settings.default_provider,
    participation: unproven.some((missing) => missing.member === row.member) ? 'required' : 'satisfied',
    availability: busy.some((open) => open.member === row.member) ? 'busy' : 'available',
  }));
}

async function readNote(tx: Queries, task: TaskRow): Promise<string | null> {
  const row = await tx.first(workflowSql.note, { id: task.workflow, revision_no: task.revision_no });
  return row?.note ?? null;
}

interface Prose {
  title?: string;
  description?: string;
  instruction?: string;
}

function proseOf({ title, description, instruction }: MemberConfiguration): Prose {
  return {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(instruction === undefined ? {} : { instruction }),
  };
}

function definedOnly({ kind, model, effort }: Pins['provider']): { kind: string; model?: string; effort?: string } {
  return { kind, ...(model === undefined ? {} : { model }), ...(effort === undefined ? {} : { effort }) };
}
