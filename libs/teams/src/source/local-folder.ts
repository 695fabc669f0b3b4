import { realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { FarmError } from '#contracts';
import type { SourceRules } from './source-rules.js';

/**
 * The real folder of a repository on the controller's machine: beneath a configured root, not in the data folder nor around it, with
 * its objects its own. Looked at again before each fetch: what is a folder today may be a link tomorrow (H30).
 *
 * @throws FarmError source_refused, source_unavailable
 */
export async function judgedFolder(path: string, rules: SourceRules): Promise<string> {
  if (rules.roots.length === 0) {
    throw refused(
      'No folder of this machine is open to sources.',
      `An admin opens one with LONGSHORE_SOURCE_ROOTS (sources.roots). ${ownCheckout}`,
    );
  }
  const real = await realOf(path);
  const data = await realOf(rules.dataFolder);
  if (isWithin(real, data) || isWithin(data, real)) throw refused('The data folder of the farm is no source.');
  const roots = await Promise.all(rules.roots.map((root) => realOf(root).catch(() => undefined)));
  const within = roots.filter((root) => root !== undefined && isWithin(real, root));
  if (within.length === 0)
    throw refused(
      'The folder does not lie in one that is open to sources.',
      `An admin opens more with LONGSHORE_SOURCE_ROOTS (sources.roots). ${ownCheckout}`,
    );
  const gitDir = await gitDirOf(real);
  for (const part of [gitDir, join(gitDir, 'objects'), join(gitDir, 'refs')]) {
    if (!isWithin(await realOf(part), real)) throw refused('The repository keeps a part of itself in another place.');
  }
  if (await exists(join(gitDir, 'objects', 'info', 'alternates')))
    throw refused(
      'The repository borrows objects from another one.',
      'Make a whole copy of it: git clone --dissociate.',
    );
  return real;
}

async function gitDirOf(folder: string): Promise<string> {
  const dotGit = join(folder, '.git');
  if (await exists(join(dotGit, 'HEAD'))) return dotGit;
  if (await exists(join(folder, 'HEAD'))) return folder;
  throw refused('The folder is no git repository of its own.');
}

async function realOf(path: string): Promise<string> {
  return realpath(path).catch(() => {
    throw new FarmError('source_unavailable', 'The folder is not there, or the controller may not enter it.');
  });
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

const ownCheckout = 'A checkout of your own goes along with longshore task start --source DIR.';

function refused(detail: string, hint?: string): FarmError {
  return new FarmError('source_refused', detail, hint === undefined ? {} : { hint });
}
