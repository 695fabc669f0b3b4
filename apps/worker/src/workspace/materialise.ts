import type { DispatchPayload } from '#contracts';
import type { DispatchFolder } from './owner-marker.js';
import type { Isolation, Workspaces, WorkspaceWanted } from './workspaces.js';

export type { Isolation } from './workspaces.js';

/** Of a Dispatch or a Command Run. */
export type LaidOut = Pick<DispatchPayload, 'base' | 'member_id' | 'task_directory'> & {
  readonly assignment_id?: string | undefined;
  readonly isolation: WorkspaceWanted['isolation'];
};

/** What the repository of the Task says, and where its bundle comes from. */
export type Surroundings = Pick<WorkspaceWanted, 'bundle' | 'signal' | 'setup' | 'submodules' | 'lfs'> & {
  /** Without a registered repository a template is for one Task only. */
  readonly scope?: WorkspaceWanted['scope'];
};

/**
 * Makes the workspace of a job, as its payload says.
 *
 * @throws FarmError those of `Workspaces.materialise`
 */
export function materialise(
  workspaces: Workspaces,
  folder: DispatchFolder,
  payload: LaidOut,
  { scope, ...surroundings }: Surroundings,
): Promise<Isolation> {
  const { base, member_id, task_directory, assignment_id, isolation } = payload;
  return workspaces.materialise({
    ...surroundings,
    folder,
    base,
    name: member_id,
    exclude: [task_directory],
    isolation,
    scope: scope ?? { project: '', origin: task_directory, sandbox: '' },
    ...(assignment_id === undefined ? {} : { assignment: assignment_id }),
  });
}
