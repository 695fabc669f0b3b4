import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { FarmError, type InputOf, type taskStart } from '#contracts';
import { branchesOf, commitOf } from '#git';
import type { TeamParts } from '../parts.js';
import type { RepositoryRow } from '../rows.js';
import { repositorySql } from '../sql/teams.js';
import { mirrorOf } from './open-remote.js';
import { namesOf } from './repository-of.js';
import { readSourceUrl } from './source-url.js';

/** Branches that a person is told of, newest first. */
const told = 5;

/**
 * The commit that a ref names in a mirror.
 *
 * @throws FarmError source_unavailable, which names the ref, what is there and the ways out
 */
export async function findBase(dir: string, ref: string, asked: 'task' | 'repository'): Promise<string> {
  try {
    return await commitOf(dir, ref);
  } catch (error) {
    if (!(error instanceof FarmError) || error.code !== 'source_unavailable') throw error;
    const others =
      asked === 'task'
        ? 'cancel the Task and start it again with a --ref that is there'
        : 'name another default branch (longshore repo add --replace --default-branch)';
    throw new FarmError('source_unavailable', `${missing(ref)} ${await there(dir)}`, {
      hint: `Push it there and resume the Task, or ${others}. A commit is named by its whole id, and must be in a branch or tag.`,
    });
  }
}

/**
 * What to say at the start of a Task whose ref the mirror of its repository does not have: only a warning, since the origin may have
 * it by now. Nothing where there is no mirror yet.
 */
export async function warnOfRef(parts: TeamParts, input: InputOf<typeof taskStart>): Promise<readonly string[]> {
  const ref = input.repository?.ref;
  const row = ref === undefined ? undefined : await registered(parts, input);
  const mirror = row && mirrorOf(parts, row);
  if (ref === undefined || mirror === undefined) return [];
  const dir = join(parts.sources.mirrorsFolder, `${mirror}.git`);
  try {
    await access(dir);
    await commitOf(dir, ref);
    return [];
  } catch (error) {
    if (!(error instanceof FarmError) || error.code !== 'source_unavailable') return [];
    return [
      `${missing(ref)} So it was when the farm looked last; if it is still so the Task pauses, and --ref is to be put right. ${await there(dir)}`,
    ];
  }
}

async function registered(
  { database }: TeamParts,
  { repository }: InputOf<typeof taskStart>,
): Promise<RepositoryRow | undefined> {
  if (repository?.name !== undefined) return database.first(repositorySql.find, { name: repository.name });
  const [name, another] = await namesOf(database, readSourceUrl(repository?.url ?? ''));
  return name === undefined || another !== undefined ? undefined : database.first(repositorySql.find, { name });
}

const missing = (ref: string): string => `The origin has no branch, tag or commit ${ref}.`;

async function there(dir: string): Promise<string> {
  const branches = await branchesOf(dir, told);
  return branches.length === 0 ? 'It has no branches.' : `Its newest branches: ${branches.join(', ')}.`;
}
