import { type DispatchPayload, FarmError } from '#contracts';
import { makeFoldersBeneath, writeNewFileBeneath } from './beneath.js';

/** The name of a Task directory; nothing else may be left out of a delta (H21). */
const shape = /^\.longshore\/t_[0-9a-z]{8}$/;

/**
 * Renders the Task directory: the manifest, and the member's own folders for notes and artifacts, so that members never collide.
 *
 * @throws FarmError `invalid_task_path` when the repository has a symlink or a file where it belongs
 */
export async function renderTaskDirectory(workspace: string, payload: DispatchPayload): Promise<void> {
  const { task_directory: directory, member_id: member } = payload;
  if (!shape.test(directory)) throw new FarmError('invalid_task_path', 'The Task directory has no name of ours.');
  for (const folder of ['notes', 'artifacts']) await makeFoldersBeneath(workspace, `${directory}/${folder}/${member}`);
  await writeNewFileBeneath(workspace, `${directory}/manifest.md`, manifestOf(payload));
}

function manifestOf(payload: DispatchPayload): string {
  const { task_directory: directory, member_id: member } = payload;
  return `# Task ${payload.task_id}

${payload.title}

You are the member \`${member}\`, at work with the provider \`${payload.provider}\`. The team and your Assignment are in the answer
of \`get_current_context\`.

- \`${directory}/notes/${member}/\`: your working notes. They are not part of the result.
- \`${directory}/artifacts/${member}/\`: files for people to read. They are kept even where the repository ignores them.

All paths that you name are relative to the root of the workspace.
`;
}
