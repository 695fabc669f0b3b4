import type { getCurrentContext, OutputOf } from '#contracts';
import { type Queries, sentTogether } from '#store';
import { asJson } from '../as-json.js';
import type { AssignmentRow, Continuation, Pins, TaskRow, TeamMemberRow } from '../rows.js';
import { steerSql } from '../sql/steer.js';
import { teamSql } from '../sql/teams.js';
import { workflowSql } from '../sql/workflow.js';
import { availableOf, type DirectTeammate, directTeam, proseOf } from './direct-team.js';
import { ceilingOf, grantsOf } from './exposure.js';

type Context = OutputOf<typeof getCurrentContext>;

/** What a member sees of where it is; `observed_at` is added where it is read. */
export type Picture = Omit<Context, 'observed_at' | 'direct_team'> & {
  readonly direct_team: readonly DirectTeammate[];
  /** The workflow's note to all members. */
  readonly note: string | null;
  readonly team: readonly TeamMemberRow[];
  /** What the member may ever call while it does this Dispatch. */
  readonly ceiling: readonly string[];
};

interface Wanted {
  readonly task: TaskRow;
  readonly assignment: AssignmentRow;
  readonly dispatch: { readonly id: string; readonly attempt: number };
  readonly pins: Pins;
  readonly continuation: Continuation | null;
}

/** What a picture is drawn from. */
export interface Scene {
  readonly team: readonly TeamMemberRow[];
  readonly note: string | null;
  /** What it was told while it did this Assignment. */
  readonly heard: readonly { readonly message: string; readonly created_at: Date }[];
  readonly direct: readonly DirectTeammate[];
}

/** One coherent reading of the Task as one member stands in it. Sends its first statements at once. */
export async function readScene(
  queries: Queries,
  task: TaskRow,
  assignment: AssignmentRow,
  pinned: Pick<Pins, 'team_revision' | 'member'>,
): Promise<Scene> {
  // First: who has children asks for their standing while the statements after it run.
  const members = queries.all(teamSql.members, { revision: pinned.team_revision });
  const [team, note, heard, direct] = await sentTogether([
    members,
    readNote(queries, task),
    queries.all(steerSql.heard, { assignment: assignment.id }),
    members.then((team) => directTeam(queries, task, team, pinned)),
  ]);
  return { team, note, heard, direct };
}

export function drawPicture(
  { team, note, heard, direct }: Scene,
  { task, assignment, dispatch, pins, continuation }: Wanted,
): Picture {
  const self = team.find((row) => row.member === pins.member);
  if (!self) throw new Error('the pinned revision does not hold the member');
  const directory = taskDirectory(task.id);
  const manages = team.some((row) => row.parent === self.member);
  const grants = grantsOf(pins, self.configuration);
  const ceiling = ceilingOf({ manages, grants });
  return {
    task: { id: task.id, workflow_id: task.workflow },
    dispatch: { id: dispatch.id, attempt_id: `${assignment.id}.${dispatch.attempt}`, assignment_id: assignment.id },
    current_member: {
      ...proseOf(self.configuration),
      id: self.member,
      ...(self.parent === null ? { position: 'task_lead' as const } : {}),
      behavior: manages ? 'manager' : 'contributor',
      provider: definedOnly(pins.provider),
      effective_capabilities: { ...grants, human_request: [...grants.human_request] },
    },
    assignment: { id: assignment.id, prompt: assignment.prompt, files: [...assignment.files] },
    steering: heard.map(({ message, created_at }) => ({ message, occurred_at: created_at.toISOString() })),
    continuation: asJson(continuation),
    direct_team: direct,
    work_plan: assignment.plan,
    available_actions: availableOf(ceiling, direct),
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
    ceiling,
  };
}

/** H21: the one folder of ours in a workspace, left out of what is captured but for notes and artifacts. */
export function taskDirectory(task: string): string {
  return `.longshore/${task}`;
}

async function readNote(queries: Queries, task: TaskRow): Promise<string | null> {
  const row = await queries.first(workflowSql.note, { id: task.workflow, revision_no: task.revision_no });
  return row?.note ?? null;
}

function definedOnly({ kind, model, effort }: Pins['provider']): { kind: string; model?: string; effort?: string } {
  return { kind, ...(model === undefined ? {} : { model }), ...(effort === undefined ? {} : { effort }) };
}
