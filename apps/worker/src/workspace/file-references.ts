import { FarmError, RelativePath } from '#contracts';
import { lookBeneath } from './beneath.js';

/**
 * Each file that a member names must be a regular file of the workspace, with no symlink on the way (I22, H21). One that is not
 * refuses the whole call.
 *
 * @throws FarmError `invalid_task_path` naming the place in the list, never the path
 */
export async function checkFileReferences(workspace: string, paths: readonly string[]): Promise<void> {
  const seen = await Promise.all(paths.map((path) => isFile(workspace, path)));
  const bad = seen.flatMap((good, index) => (good ? [] : [index]));
  if (bad.length === 0) return;
  throw new FarmError('invalid_task_path', 'A file that is named is not a regular file of the workspace.', {
    fields: bad.map((index) => ({ path: `/files/${index}/path`, rule: 'regular_file' })),
    hint: 'Name files relative to the root of the workspace, as they are on disk, without symlinks.',
  });
}

async function isFile(workspace: string, path: string): Promise<boolean> {
  if (!RelativePath.safeParse(path).success) return false;
  return (await lookBeneath(workspace, path))?.isFile() === true;
}
