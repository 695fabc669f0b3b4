import { lstat, realpath } from 'node:fs/promises';
import { homedir } from 'node:os';
import { isAbsolute, join, normalize, relative, sep } from 'node:path';
import { FarmError } from '#contracts';

/** What the owner of this machine says of folders that are worked in as they are (H27). */
export interface OwnersFolders {
  /** Folders in which Tasks may work in place; none by default. */
  readonly roots: readonly string[];
  /** The worker's own folder: no Task works in it, nor around it. */
  readonly home: string;
}

/**
 * A folder is worked in where its owner allows a root around it, and where nothing hides behind its name: it is absolute and plain,
 * there is no symbolic link on the way, no hidden folder below the root, and neither the worker's own folder nor a home lies in it.
 * Looked at anew before each job: what is a folder today may be a link tomorrow.
 *
 * @throws FarmError `workspace_unavailable`
 */
export async function judgeFolder(path: string, { roots, home }: OwnersFolders): Promise<void> {
  if (roots.length === 0)
    throw refusal(
      'The owner of this machine lets nobody work in its folders.',
      `${howToAllow} It is read at the start.`,
    );
  if (!isAbsolute(path) || normalize(path) !== path || (path.endsWith(sep) && path !== sep))
    throw refusal(
      'The path is not absolute, or not plain: it has `~`, `.`, `..`, `//` or a slash at its end.',
      'Name the folder by its whole path.',
    );
  const within = (await realRoots(roots)).filter((root) => isWithin(path, root));
  if (within.length === 0) throw refusal('The folder is in none of those that its owner allows.', howToAllow);
  if (
    within.every((root) =>
      relative(root, path)
        .split(sep)
        .some((part) => part.startsWith('.')),
    )
  )
    throw refusal('The folder is a hidden one, or in one.', 'Its owner may name it as a root itself.');
  for (const kept of [home, homedir(), join(homedir(), '.longshore')])
    if (isWithin(kept, path) || isWithin(path, home))
      throw refusal(
        'The folder holds what no Task may see: a home, or the folder of the worker.',
        'Name a folder below it.',
      );
  const seen = await lstat(path).catch(() => undefined);
  if (seen === undefined) throw refusal('The folder is not there.', 'Resume the Task when it is back.');
  if ((await realpath(path)) !== path)
    throw refusal('A symbolic link is on the way to the folder.', 'Name the folder by the path that it really has.');
  if (!seen.isDirectory()) throw refusal('What stands there is no folder.', 'Name a folder.');
}

/** A root is what its owner named, wherever that is. */
async function realRoots(roots: readonly string[]): Promise<readonly string[]> {
  const real = await Promise.all(roots.map((root) => realpath(root).catch(() => undefined)));
  return real.filter((root) => root !== undefined);
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);
}

const howToAllow = 'It is allowed in worker.yaml of that machine: workspaces: {roots: [/srv]}.';

function refusal(detail: string, hint: string): FarmError {
  return new FarmError('workspace_unavailable', detail, { hint });
}
