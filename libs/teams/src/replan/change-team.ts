import { FarmError, type MemberChange, type MemberPatch, type NewMember } from '#contracts';
import type { BodyOf } from '../handover/handover-body.js';
import type { MemberConfiguration, TeamMemberRow } from '../rows.js';
import { definedFields, patchedFields } from '../workflow/member-fields.js';
import { refuseOversize } from '../workflow/tree-rules.js';

/** A member of a team to come. Ids of configuration and branch are new where they changed. */
export interface PlannedMember {
  readonly member: string;
  readonly parent: string | null;
  readonly position: number;
  readonly depth: number;
  readonly configuration: MemberConfiguration;
  readonly origin: 'authored' | 'task_replan';
  /** Null: a new one is made when it is written. */
  readonly config_id: string | null;
  readonly basis_id: string | null;
}

export interface ChangedTeam {
  readonly team: readonly PlannedMember[];
  readonly created: readonly string[];
  readonly updated: readonly string[];
  readonly removed: readonly string[];
  /** Members that were there and that the change is about: none of them may be at work. */
  readonly touched: readonly string[];
}

type Change = BodyOf<'replan'>['change'];

/**
 * What a change makes of a team, without asking who is at work (§4.5 of the team rules). Members outside the caller's branch keep
 * everything; the branch of each that changed, up to the lead, is proven anew (I11).
 *
 * @throws illegal_target_relation (not below the caller) · illegal_state (nothing would change) · budget_exhausted (the tree's limits)
 */
export function changeTeam(
  team: readonly TeamMemberRow[],
  caller: string,
  change: Change,
  reserved: readonly string[],
): ChangedTeam {
  const draft = new TeamDraft(team, reserved);
  if (change.operation === 'add_child') draft.add(caller, change.child);
  else {
    requireBelow(team, caller, change.id);
    if (change.operation === 'remove_child') draft.remove(change.id);
    else draft.update(change.id, change.patch, '/patch');
  }
  return draft.finish();
}

/** How many ids a change needs. */
export function countNew(change: Change): number {
  if (change.operation === 'add_child') return countMembers(change.child);
  if (change.operation === 'remove_child') return 0;
  return countInPatch(change.patch);
}

const countMembers = ({ children = [] }: NewMember): number =>
  1 + children.reduce((sum, child) => sum + countMembers(child), 0);

const countInPatch = ({ children = [] }: MemberPatch): number =>
  children.reduce((sum, child) => sum + (child.id === undefined ? 1 : 0) + countInPatch(child), 0);

function requireBelow(team: readonly TeamMemberRow[], caller: string, id: string): void {
  const parents = new Map(team.map((row) => [row.member, row.parent]));
  for (let at = parents.get(id); at !== undefined && at !== null; at = parents.get(at)) if (at === caller) return;
  throw new FarmError('illegal_target_relation', 'Only members below you can be changed.', {
    fields: [{ path: '/id', rule: 'below_you' }],
    hint: 'get_current_context shows your direct team, the manifest the whole one.',
  });
}

type Draft = { -readonly [Key in keyof PlannedMember]: PlannedMember[Key] };

class TeamDraft {
  private readonly members = new Map<string, Draft>();
  private readonly created: string[] = [];
  private readonly updated: string[] = [];
  private readonly removed: string[] = [];
  private readonly touched = new Set<string>();
  /** Whose branches changed; their ancestors follow. */
  private readonly changed = new Set<string>();
  private readonly ids: string[];

  constructor(team: readonly TeamMemberRow[], reserved: readonly string[]) {
    this.ids = [...reserved];
    for (const { revision: _, ...row } of team) this.members.set(row.member, { ...row });
  }

  add(parent: string, { children = [], ...fields }: NewMember): void {
    const above = this.at(parent);
    const id = this.ids.shift();
    if (id === undefined) throw new Error('fewer ids were reserved than the change needs');
    const siblings = this.childrenOf(parent);
    this.members.set(id, {
      member: id,
      parent,
      position: siblings.reduce((most, each) => Math.max(most, each.position + 1), 0),
      depth: above.depth + 1,
      configuration: { id, ...fields },
      origin: 'task_replan',
      config_id: null,
      basis_id: null,
    });
    this.created.push(id);
    this.changed.add(id);
    this.changed.add(parent);
    for (const child of children) this.add(id, child);
  }

  remove(id: string): void {
    const { parent } = this.at(id);
    for (const child of this.childrenOf(id)) this.remove(child.member);
    this.members.delete(id);
    this.removed.push(id);
    this.touched.add(id);
    if (parent !== null) this.changed.add(parent);
  }

  /** Existing members whose own fields change get a new configuration; conservative about who is busy: the whole branch counts. */
  update(id: string, { children = [], ...patch }: MemberPatch, path: string): void {
    const before = this.at(id);
    this.touchBranch(id);
    const configuration = patched(before.configuration, patch);
    if (JSON.stringify(configuration) !== JSON.stringify(patched(before.configuration, {}))) {
      Object.assign(before, { configuration, config_id: null });
      this.updated.push(id);
      this.changed.add(id);
    }
    for (const [n, { id: child, ...fields }] of children.entries()) {
      if (child === undefined) this.add(id, asNew(fields, `${path}/children/${n}`));
      else this.updateChild(id, child, fields, `${path}/children/${n}`);
    }
  }

  finish(): ChangedTeam {
    if (this.created.length + this.updated.length + this.removed.length === 0)
      throw new FarmError('illegal_state', 'This would change nothing.', { hint: 'Name what is to be different.' });
    this.refreshBases();
    const team = [...this.members.values()].sort((a, b) => a.depth - b.depth || a.position - b.position);
    refuseOversize(team.map(({ member, depth }) => ({ depth, children: this.childrenOf(member).length })));
    const { created, updated, removed, touched } = this;
    return { team, created, updated, removed, touched: [...touched] };
  }

  private updateChild(parent: string, id: string, patch: MemberPatch, path: string): void {
    if (this.members.get(id)?.parent !== parent) {
      throw new FarmError('illegal_target_relation', 'A listed child is no direct child of the member above it.', {
        fields: [{ path: `${path}/id`, rule: 'direct_child' }],
      });
    }
    this.update(id, patch, path);
  }

  private touchBranch(id: string): void {
    this.touched.add(id);
    for (const child of this.childrenOf(id)) this.touchBranch(child.member);
  }

  private refreshBases(): void {
    for (const id of this.changed) {
      for (let at = this.members.get(id); at; at = at.parent === null ? undefined : this.members.get(at.parent))
        at.basis_id = null;
    }
  }

  private childrenOf(id: string): readonly Draft[] {
    return [...this.members.values()].filter((each) => each.parent === id);
  }

  private at(id: string): Draft {
    const member = this.members.get(id);
    if (!member) throw new FarmError('illegal_target_relation', 'There is no such member in the team.');
    return member;
  }
}

/** Omitted: stays. Null: cleared. */
function patched(configuration: MemberConfiguration, patch: MemberChange): MemberConfiguration {
  return { id: configuration.id, ...patchedFields(configuration, patch) };
}

/** A child that names no id is a new one: there is nothing of it to clear. */
function asNew({ children, ...patch }: MemberPatch, path: string): NewMember {
  return {
    ...definedFields(patch),
    ...(children && { children: children.map((child, n) => newChild(child, `${path}/children/${n}`)) }),
  };
}

function newChild({ id, ...patch }: MemberPatch & { readonly id?: string | undefined }, path: string): NewMember {
  if (id === undefined) return asNew(patch, path);
  throw new FarmError('illegal_target_relation', 'A new member can not take over one that is there.', {
    fields: [{ path: `${path}/id`, rule: 'new_member' }],
  });
}
