import { HumanRequestView, limits } from '#contracts';
import type { Queries } from '#store';
import { type HumanRequestRow, humanRequestSql } from '../sql/human-request.js';
import { requestAction } from './request-actions.js';

const shown = { open: 'open', resolved: 'answered', timed_out: 'expired', cancelled: 'cancelled' } as const;

/** What members ask of people, open ones first. `name` says what a member is called. */
export async function viewRequests(
  queries: Queries,
  task: string,
  name: (member: string) => string,
): Promise<HumanRequestView[]> {
  const rows = await queries.all(humanRequestSql.ofTask, { task, limit: limits.shownRequests });
  return rows.map((row) => viewOf(row, name));
}

function viewOf(row: HumanRequestRow, name: (member: string) => string): HumanRequestView {
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
    files: row.files,
    opened_at: row.opened_at.toISOString(),
    due_at: row.due_at?.toISOString() ?? null,
    default_behavior: row.default_behavior,
    status: shown[row.status],
    resolution: row.resolution,
    actions,
  });
}
