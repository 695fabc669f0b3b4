import type { InputOf, OutputOf, repoList } from '#contracts';
import type { Transaction } from '#store';
import { repositorySql } from '../sql/teams.js';
import { viewRepositories } from './view-repository.js';

/** By name, a page at a time. */
export async function listRepositories(
  tx: Transaction,
  { limit, cursor = '' }: InputOf<typeof repoList>,
): Promise<OutputOf<typeof repoList>> {
  const rows = await tx.all(repositorySql.list, { after: cursor, limit: limit + 1 });
  const page = rows.slice(0, limit);
  return {
    items: [...(await viewRepositories(tx, page))],
    next_cursor: rows.length > limit ? (page.at(-1)?.name ?? null) : null,
  };
}
