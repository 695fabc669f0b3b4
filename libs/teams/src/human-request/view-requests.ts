import { FarmError, HumanRequestView, limits } from '#contracts';
import type { Queries } from '#store';
import { type HumanRequestRow, humanRequestSql } from '../sql/human-request.js';
import type { Shortening } from '../task/shorten.js';
import { requestAction } from './request-actions.js';

const shown = { open: 'open', resolved: 'answered', timed_out: 'expired', cancelled: 'cancelled' } as const;

/** What members ask of people, open ones first, as an overview shows them. `name` says what a member is called. */
export async function viewRequests(
  queries: Queries,
  task: string,
  name: (member: string) => string,
  short: Shortening,
): Promise<{ readonly items: readonly HumanRequestView[]; readonly total: number }> {
  const rows = await queries.all(humanRequestSql.ofTask, { task, limit: limits.overviewList });
  return { items: rows.map((row) => shortOf(viewRequest(row, name), short)), total: rows[0]?.total ?? 0 };
}

/** @throws not_found also for another Task's */
export async function findRequest(queries: Queries, task: string, id: string): Promise<HumanRequestRow> {
  const row = await queries.first(humanRequestSql.read, { id });
  if (row?.task === task) return row;
  throw new FarmError('not_found', 'This Task has no such request.', {
    hint: '`longshore task get` shows what its members ask.',
  });
}

/** One request, whole. */
export function viewRequest(row: HumanRequestRow, name: (member: string) => string): HumanRequestView {
  const actions = (['answer', 'cancel'] as const).flatMap((kind) => {
    const id = requestAction(row, kind);
    return id === undefined ? [] : [{ id, kind }];
  });
  return HumanRequestView.parse({
    request_id: row.id,
    kind: row.kind,
    member: { id: row.member, name: name(row.member) },
    summary: row.summary,
    items: row.items,
    items_total: row.items.length,
    files: row.files,
    files_total: row.files.length,
    opened_at: row.opened_at.toISOString(),
    due_at: row.due_at?.toISOString() ?? null,
    default_behavior: row.default_behavior,
    status: shown[row.status],
    resolution: row.resolution,
    actions,
  });
}

function shortOf(view: HumanRequestView, short: Shortening): HumanRequestView {
  const part = 'human_requests';
  const { member, resolution } = view;
  return {
    ...view,
    member: { ...member, name: short.name(part, member.name) },
    summary: short.text(part, view.summary),
    items: short.whole(part, view.items),
    files: short.whole(part, view.files),
    default_behavior: short.optional(part, view.default_behavior),
    resolution: resolution && { ...resolution, item_responses: short.whole(part, resolution.item_responses) },
  };
}
