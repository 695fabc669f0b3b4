import { statement } from '#store';

export interface UnmergedBranch {
  readonly wave: string;
  readonly position: number;
  readonly member: string;
  readonly branch: string;
  readonly commit: string;
}

/** Assignments whose accepted work is in the lines that `line` names: these, and children that the join has merged into them. */
const inside = `inside as (
    select id from line
    union select c.assignment from wave_member c join wave v on v.id = c.wave join inside i on v.assignment = i.id
      where c.merge->>'outcome' in ('merged', 'already_merged')
  )`;

const branchColumns = `m.wave, m.position, m.member, m.merge->>'branch' as branch, m.commit`;

/** left, kept, not merged by hand: the join could not merge it, its commit is there, and nobody whose work is in the line has. */
const stands = `w.status = 'settled' and m.merge->>'branch' is not null and m.commit is not null
       and not m.resolved_in && array(select id from inside)`;

/** Hand-written SQL of what members find of one another: unmerged branches (D22), and notes. */
export const teamWorkSql = {
  /** Branches that stand unmerged for an Assignment: of its own Waves, and of those above it, oldest first. */
  unmerged: statement<UnmergedBranch>(
    'teams.work_unmerged',
    `with recursive line as (
       select id, parent from assignment where id = $assignment
       union all select a.id, a.parent from assignment a join line l on a.id = l.parent
     ), ${inside}
     select ${branchColumns} from wave_member m join wave w on w.id = m.wave
     where w.assignment in (select id from line) and ${stands}
     order by w.created_at, m.position limit $limit`,
  ),
  /** Branches that a Task ends without: of all its Waves. */
  unmergedOfTask: statement<UnmergedBranch>(
    'teams.work_unmerged_of_task',
    `with recursive line as (select id from assignment where id = $root), ${inside}
     select ${branchColumns} from wave_member m join wave w on w.id = m.wave
     where w.task = $task and ${stands}
     order by w.created_at, m.position limit $limit`,
  ),
  /** The Assignment's own line holds the branch from now on. */
  resolve: statement<unknown>(
    'teams.work_resolve',
    `update wave_member set resolved_in = resolved_in || $assignment::uuid where wave = $wave and position = $position`,
  ),
  setNotes: statement<unknown>(
    'teams.work_set_notes',
    `update assignment set notes_head = $notes where id = $assignment`,
  ),
  /** The latest of each member, also of one that is blocked or gone. */
  notes: statement<{ member: string; commit: string }>(
    'teams.work_notes',
    `select distinct on (member) member, notes_head as commit from assignment
     where task = $task and notes_head is not null order by member, created_at desc, id`,
  ),
} as const;
