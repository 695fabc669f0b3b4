import type { FileReference, HumanItem, HumanRequestInput, HumanResolution } from '#contracts';
import { statement } from '#store';

export interface HumanRequestRow {
  readonly id: string;
  readonly task: string;
  readonly assignment: string;
  readonly member: string;
  readonly source_dispatch: string;
  readonly kind: HumanRequestInput['kind'];
  readonly summary: string;
  readonly items: readonly HumanItem[];
  readonly files: readonly FileReference[];
  readonly due_at: Date | null;
  readonly default_behavior: string | null;
  readonly status: 'open' | 'resolved' | 'timed_out' | 'cancelled';
  readonly resolution: HumanResolution | null;
  readonly opened_at: Date;
}

const columns = `h.id, h.task, h.assignment, a.member, h.source_dispatch, h.kind, h.summary, h.items, h.files, h.due_at,
  h.default_behavior, h.status, h.resolution, h.opened_at`;

/** Hand-written SQL of human requests. */
export const humanRequestSql = {
  add: statement<unknown>(
    'teams.human_request_add',
    `insert into human_request (id, task, assignment, source_dispatch, kind, summary, items, files, due_at, default_behavior, status)
     values ($id, $task, $assignment, $source_dispatch, $kind, $summary, $items::jsonb, $files::jsonb, $due_at, $default_behavior,
       'open')`,
  ),
  read: statement<HumanRequestRow>(
    'teams.human_request_read',
    `select ${columns} from human_request h join assignment a on a.id = h.assignment where h.id = $id`,
  ),
  ofDispatch: statement<HumanRequestRow>(
    'teams.human_request_of_dispatch',
    `select ${columns} from human_request h join assignment a on a.id = h.assignment where h.source_dispatch = $dispatch`,
  ),
  /** Open ones first, then the newest; and how many there are. */
  ofTask: statement<HumanRequestRow & { readonly total: number }>(
    'teams.human_request_of_task',
    `select ${columns}, count(*) over () as total from human_request h join assignment a on a.id = h.assignment where h.task = $task
     order by h.status <> 'open', h.opened_at desc, h.id limit $limit`,
  ),
  openOfTask: statement<HumanRequestRow>(
    'teams.human_request_open_of_task',
    `select ${columns} from human_request h join assignment a on a.id = h.assignment
     where h.task = $task and h.status = 'open' order by h.opened_at, h.id`,
  ),
  /** open: the first answer is the last one; a twin, a timeout or a cancel that was faster leaves no row. */
  resolve: statement<{ id: string }>(
    'teams.human_request_resolve',
    `update human_request set status = $status, resolution = $resolution::jsonb, resolved_at = clock_timestamp()
     where id = $id and status = 'open' returning id`,
  ),
  /** Wall time: people read it off a clock. Also of paused Tasks (Q7). */
  due: statement<{ id: string; task: string }>(
    'teams.human_request_due',
    `select id, task from human_request where status = 'open' and due_at <= clock_timestamp() order by due_at limit $limit`,
  ),
} as const;
