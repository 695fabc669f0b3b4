import { FarmError, type Preview } from '#contracts';
import type { Transaction } from '#store';
import type { TeamParts } from '../parts.js';
import { repositorySql } from '../sql/teams.js';
import { unknownRepository } from './check-repository.js';
import { removeMirror } from './mirrors.js';
import { mirrorOf } from './open-remote.js';

/** @throws FarmError not_found, conflict (a Task still needs it) */
export async function removeRepository(parts: TeamParts, tx: Transaction, name: string): Promise<void> {
  const row = await tx.first(repositorySql.lock, { name });
  if (!row) throw unknownRepository();
  const used = (await tx.first(repositorySql.inUse, { id: row.id }))?.count ?? 0;
  if (used > 0) {
    throw new FarmError(
      'conflict',
      `${used} ${used === 1 ? 'Task that has' : 'Tasks that have'} not ended started from this repository.`,
      {
        hint: 'Let them end or cancel them, then remove it.',
      },
    );
  }
  await tx.run(repositorySql.remove, { id: row.id });
  const mirror = mirrorOf(parts, row);
  // What stays after a fault here goes with its age.
  if (mirror !== undefined) tx.afterCommit(() => void removeMirror(parts, mirror).catch(() => undefined));
}

/** @throws FarmError not_found */
export async function lockRepository(tx: Transaction, name: string): Promise<void> {
  if (!(await tx.first(repositorySql.lock, { name }))) throw unknownRepository();
}

export async function previewRemoval(tx: Transaction, name: string): Promise<Preview> {
  const row = await tx.first(repositorySql.find, { name });
  if (!row) throw unknownRepository();
  return {
    summary: 'Forgets the repository, its credential, its secrets and its mirror',
    changes: [{ id: row.name, before: { url: row.url }, after: null }],
  };
}
