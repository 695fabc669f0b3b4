import { statement } from '#store';

export type Provenance = 'starter' | 'user';
type LibraryState = 'draft' | 'published' | 'published_with_draft';

/** A workflow as the library shows it. What is published stands before the draft. */
export interface LibraryRow {
  readonly workflow_id: string;
  readonly state: LibraryState;
  readonly provenance: Provenance;
  readonly description: string;
  readonly members: number;
  readonly revision_no: number | null;
  readonly published_at: Date | null;
  readonly updated_at: Date;
}

export interface DraftRow {
  readonly draft_id: string;
  readonly workflow: string;
  readonly content: unknown;
  readonly base_revision_no: number | null;
  readonly etag: string;
  /** The next number for an id that the farm gives; it never goes back. */
  readonly next_member_sequence: number;
  readonly members: number;
  readonly updated_at: Date;
}

const library = `select w.id as workflow_id,
    case when r.revision_no is null then 'draft' when d.draft_id is null then 'published' else 'published_with_draft' end as state,
    coalesce(r.provenance, 'user') as provenance, coalesce(r.content, d.content)->>'description' as description,
    coalesce(r.members, d.members) as members, r.revision_no, r.created_at as published_at,
    greatest(w.updated_at, d.updated_at) as updated_at
  from workflow w left join workflow_revision r on r.workflow = w.id and r.revision_no = w.current_revision_no
    left join workflow_draft d on d.workflow = w.id
  where (r.revision_no is not null or d.draft_id is not null)`;

const draftColumns = `draft_id, workflow, content, base_revision_no, etag, next_member_sequence, members, updated_at`;

/** Hand-written SQL of the workflow catalogue. */
export const workflowSql = {
  /** A row when it is new: of two that make the same one, the second waits and gets none. */
  ensure: statement<{ id: string }>(
    'teams.workflow_ensure',
    `insert into workflow (id) values ($id) on conflict do nothing returning id`,
  ),
  /**
   * All that changes one workflow comes one after another, draft or revision: so numbers have no gaps, the same content meets
   * itself, and an etag that was read here is still the current one when it is written.
   */
  lock: statement<{ id: string; current_revision_no: number | null }>(
    'teams.workflow_lock',
    `select id, current_revision_no from workflow where id = $id for update`,
  ),
  revisionOf: statement<{ revision_no: number }>(
    'teams.workflow_revision_of',
    `select revision_no from workflow_revision where workflow = $id and content_hash = $hash and provenance = $provenance`,
  ),
  addRevision: statement<{ revision_no: number }>(
    'teams.workflow_add_revision',
    `insert into workflow_revision (workflow, revision_no, content, content_hash, provenance, members)
     select $id, coalesce(max(revision_no), 0) + 1, $content::jsonb, $hash, $provenance, $members
     from workflow_revision where workflow = $id
     returning revision_no`,
  ),
  /** Null: nothing is published any more. Never backwards, also when the wall clock is set back. */
  select: statement<{ id: string }>(
    'teams.workflow_select',
    `update workflow set current_revision_no = $revision_no, updated_at = greatest(updated_at, clock_timestamp()) where id = $id`,
  ),
  search: statement<LibraryRow>(
    'teams.workflow_search',
    `select * from (${library}) l
     where l.workflow_id > $after and ($state::text is null or l.state = $state)
       and ($query::text is null or position(lower($query) in lower(l.workflow_id || ' ' || l.description)) > 0)
     order by l.workflow_id limit $limit`,
  ),
  inLibrary: statement<LibraryRow>('teams.workflow_in_library', `${library} and w.id = $id`),
  get: statement<{ workflow_id: string; revision_no: number; content: unknown; published_at: Date }>(
    'teams.workflow_get',
    `select w.id as workflow_id, r.revision_no, r.content, r.created_at as published_at
     from workflow w join workflow_revision r on r.workflow = w.id and r.revision_no = coalesce($revision_no, w.current_revision_no)
     where w.id = $id`,
  ),
  /** Newest first, from the one before `before`. */
  revisions: statement<{ revision_no: number; provenance: Provenance; members: number; published_at: Date }>(
    'teams.workflow_revisions',
    `select revision_no, provenance, members, created_at as published_at from workflow_revision
     where workflow = $id and ($before::int is null or revision_no < $before) order by revision_no desc limit $limit`,
  ),
  note: statement<{ note: string | null }>(
    'teams.workflow_note',
    `select content->>'note' as note from workflow_revision where workflow = $id and revision_no = $revision_no`,
  ),
} as const;

export const workflowDraftSql = {
  read: statement<DraftRow>(
    'teams.workflow_draft_read',
    `select ${draftColumns} from workflow_draft where draft_id = $draft_id`,
  ),
  ofWorkflow: statement<DraftRow>(
    'teams.workflow_draft_of_workflow',
    `select ${draftColumns} from workflow_draft where workflow = $workflow`,
  ),
  add: statement<DraftRow>(
    'teams.workflow_draft_add',
    `insert into workflow_draft (draft_id, workflow, content, base_revision_no, etag, next_member_sequence, members)
     values ($draft_id, $workflow, $content::jsonb, $base_revision_no, $etag, $next_member_sequence, $members)
     returning ${draftColumns}`,
  ),
  /** etag = from: the caller changes the version that it saw, and no other (I16). */
  change: statement<DraftRow>(
    'teams.workflow_draft_change',
    `update workflow_draft set content = $content::jsonb, etag = $to, next_member_sequence = $next_member_sequence,
       members = $members, updated_at = greatest(updated_at, clock_timestamp())
     where draft_id = $draft_id and etag = $from
     returning ${draftColumns}`,
  ),
  /** The library's time must not go back with the draft's. */
  remove: statement<{ id: string }>(
    'teams.workflow_draft_remove',
    `with gone as (delete from workflow_draft where workflow = $workflow returning workflow, updated_at)
     update workflow w set updated_at = greatest(w.updated_at, gone.updated_at, clock_timestamp())
     from gone where w.id = gone.workflow returning w.id`,
  ),
  /** One at most stands: those of older etags could never be used again (I17). */
  keepUndo: statement<{ receipt_id: string }>(
    'teams.workflow_undo_keep',
    `insert into workflow_undo (receipt_id, draft, etag, content) values ($receipt_id, $draft_id, $etag, $content::jsonb)
     on conflict (draft) do update set receipt_id = excluded.receipt_id, etag = excluded.etag, content = excluded.content`,
  ),
  /** etag: it undoes the change that made this version, and nothing that came after. Gone once used (I17). */
  useUndo: statement<{ content: unknown }>(
    'teams.workflow_undo_use',
    `delete from workflow_undo where draft = $draft_id and receipt_id = $receipt_id and etag = $etag returning content`,
  ),
  readUndo: statement<{ content: unknown }>(
    'teams.workflow_undo_read',
    `select content from workflow_undo where draft = $draft_id and receipt_id = $receipt_id and etag = $etag`,
  ),
} as const;
