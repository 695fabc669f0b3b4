import { type DispatchPayload, type DispatchRequest, FarmError } from '#contracts';
import { makeFoldersBeneath, writeNewFileBeneath } from './beneath.js';

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
