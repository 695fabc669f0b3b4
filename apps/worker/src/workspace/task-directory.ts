import { type DispatchPayload, type DispatchRequest, FarmError } from '#contracts';
import { makeFoldersBeneath, removeFileBeneath, writeNewFileBeneath } from './beneath.js';
import type { Isolation } from './workspaces.js';

/** The name of a Task directory; nothing else may be left out of a delta (H21). */
const shape = /^\.longshore\/t_[0-9a-z]{8}$/;

/**
 * Renders the Task directory: manifest and workflow note as the controller wrote them, and the member's own folders for notes and
 * artifacts, so that members never collide.
 *
 * @throws FarmError `invalid_task_path` when the repository has a symlink or a file where it belongs
 */
export async function renderTaskDirectory(
  workspace: string,
  payload: DispatchPayload,
  { manifest, workflow_note: note }: Pick<DispatchRequest, 'manifest' | 'workflow_note'>,
): Promise<void> {
  const { task_directory: directory, member_id: member } = payload;
  if (!shape.test(directory)) throw new FarmError('invalid_task_path', 'The Task directory has no name of ours.');
  for (const folder of ['notes', 'artifacts']) await makeFoldersBeneath(workspace, `${directory}/${folder}/${member}`);
  await writeNewFileBeneath(workspace, `${directory}/manifest.md`, manifest);
  if (note !== undefined) await writeNewFileBeneath(workspace, `${directory}/workflow-note.md`, note);
}

/**
 * Keeps it out of the sight of the owner's own git, and of later captures, without a word in the owner's `.git`.
 *
 * @throws FarmError `invalid_task_path` when something in the way is no folder
 */
export function hideTaskDirectory(workspace: string, directory: string): Promise<void> {
  return writeNewFileBeneath(workspace, `${directory}/.gitignore`, '*\n');
}

/** Files that the worker writes for each Dispatch. */
const written = ['manifest.md', 'workflow-note.md', 'workspace.md'] as const;

/**
 * Takes what the Dispatch before was told out of a workspace that is used again; the member's notes stay.
 *
 * @throws FarmError `invalid_task_path` when something in the way is no folder
 */
export async function clearTaskDirectory(workspace: string, directory: string): Promise<void> {
  for (const name of written) await removeFileBeneath(workspace, `${directory}/${name}`);
}

/**
 * Tells the member how its workspace was made: whether dependencies are there already, or have to be had first.
 *
 * @throws FarmError `invalid_task_path` when something in the way is no folder
 */
export async function writeWorkspaceNote(workspace: string, directory: string, isolation: Isolation): Promise<void> {
  const { warm = false, setup = 'none', backend, reasons } = isolation;
  const state = warm
    ? 'Warm: it is used again, or stands on files that were made before.'
    : 'Cold: it was made anew, on this machine, for this Dispatch.';
  const lines = [
    '# Workspace',
    '',
    state,
    setupSays[setup],
    `Made by ${backend}.`,
    ...reasons.map((why) => `- ${why}`),
  ];
  await writeNewFileBeneath(workspace, `${directory}/workspace.md`, `${lines.join('\n')}\n`);
}

const setupSays: Readonly<Record<NonNullable<Isolation['setup']>, string>> = {
  none: 'The repository names no setup command: what it ignores, such as installed dependencies, is only here if an earlier Dispatch of yours left it.',
  done: 'The setup command of the repository has run: what it installs is here.',
  failed: 'The setup command of the repository failed, and nothing of it is here. The reason stands below.',
};
