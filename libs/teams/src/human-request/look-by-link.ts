import type { HumanRequestView } from '#contracts';
import type { Queries } from '#store';
import { humanRequestSql } from '../sql/human-request.js';
import { requestLinkSql } from '../sql/request-link.js';
import { taskSql } from '../sql/teams.js';
import { hashOfTicket } from './request-link.js';
import { viewRequest } from './view-requests.js';

/** What a link shows: nothing of a request that it can not answer any more. */
export type LinkLook =
  | { readonly state: 'unknown' | 'used' | 'expired' | 'over' }
  | {
      readonly state: 'open';
      readonly task: { readonly id: string; readonly title: string };
      readonly request: HumanRequestView;
      readonly expires_at: Date;
    };

/** Reads only: mail scanners and chat previews open links before people do (H44). */
export async function lookByLink(queries: Queries, ticket: string): Promise<LinkLook> {
  const link = await queries.first(requestLinkSql.read, { hash: hashOfTicket(ticket) });
  if (!link) return { state: 'unknown' };
  if (link.used) return { state: 'used' };
  const row = await queries.first(humanRequestSql.read, { id: link.request });
  const task = row && (await queries.first(taskSql.read, { task: row.task }));
  if (!row || !task) return { state: 'unknown' };
  if (row.status !== 'open') return { state: 'over' };
  if (link.expired) return { state: 'expired' };
  const request = viewRequest(row, (member) => member);
  return { state: 'open', task: { id: task.id, title: task.title }, request, expires_at: link.expires_at };
}
