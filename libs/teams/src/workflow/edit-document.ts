import {
  type DraftEdit,
  FarmError,
  type InputOf,
  type NewMember,
  type OutputOf,
  type WorkflowDocument,
  type WorkflowMember,
  type workflowDraftEdit,
} from '#contracts';
import { definedFields, patchedFields } from './member-fields.js';
import { refuseOversize } from './tree-rules.js';

type Edit = InputOf<typeof workflowDraftEdit>['operation'];
type AcceptedChange = OutputOf<typeof workflowDraftEdit>['accepted_change'];

export interface EditedDocument {
  readonly document: WorkflowDocument;
  /** The next number for an id that the farm gives. */
  readonly sequence: number;
  readonly accepted: AcceptedChange;
}

/**
 * What one change makes of a document. New members are `member-<n>` from `sequence` on.
 *
 * @throws not_found (no such member) · illegal_state (the lead may not go; an id that two members have) · budget_exhausted
 */
export function editDocument(document: WorkflowDocument, sequence: number, edit: Edit): EditedDocument {
  if (edit.kind === 'update_workflow') {
    return { document: updateWords(document, edit.patch), sequence, accepted: { kind: 'workflow_updated' } };
  }
  const tree = new DocumentTree(document.lead);
  if (edit.kind === 'update_member') {
    const { id, children } = tree.only(edit.member_id, '/operation/member_id');
    const lead = tree.replace(id, (before) => ({
      id,
      ...patchedFields(before, edit.patch),
      ...(children === undefined ? {} : { children }),
    }));
    return { document: { ...document, lead }, sequence, accepted: { kind: 'member_updated', member_id: id } };
  }
  if (edit.kind === 'add_member') {
    const parent = tree.only(edit.parent_member_id, '/operation/parent_member_id');
    const given = giveIds(edit.member, sequence);
    const lead = tree.replace(parent.id, (before) => ({
      ...before,
      children: [...(before.children ?? []), given.member],
    }));
    refuseOversize(shapeOf(lead));
    const accepted: AcceptedChange = {
      kind: 'member_added',
      parent_member_id: parent.id,
      member_id: given.member.id,
      created_ids: idsOf(given.member),
    };
    return { document: { ...document, lead }, sequence: given.sequence, accepted };
  }
  const gone = tree.only(edit.member_id, '/operation/member_id');
  if (gone === document.lead) {
    throw new FarmError('illegal_state', 'The lead can not be removed: somebody answers for the whole job.', {
      hint: 'Update the lead, or discard the draft.',
    });
  }
  const accepted: AcceptedChange = { kind: 'member_removed', member_id: gone.id, removed_ids: idsOf(gone) };
  return { document: { ...document, lead: tree.without(gone.id) }, sequence, accepted };
}

/** One more than the highest `member-<n>` of the document: an id that it has is not given again. */
export function firstSequence({ lead }: WorkflowDocument): number {
  const numbers = idsOf(lead).map((id) => Number(/^member-(\d{1,9})$/.exec(id)?.[1] ?? 0));
  return numbers.reduce((most, each) => Math.max(most, each), 0) + 1;
}

/** The member with this id, wherever it stands; the first one. */
export function findMember(member: WorkflowMember, id: string): WorkflowMember | undefined {
  return membersOf(member).find((each) => each.id === id);
}

function updateWords(
  document: WorkflowDocument,
  patch: Extract<DraftEdit, { kind: 'update_workflow' }>['patch'],
): WorkflowDocument {
  const { kind, id, lead } = document;
  const description = patch.description ?? document.description;
  const note = patch.note === undefined ? document.note : patch.note;
  return { kind, id, description, ...(note === undefined || note === null ? {} : { note }), lead };
}

class DocumentTree {
  constructor(private readonly lead: WorkflowMember) {}

  only(id: string, path: string): WorkflowMember {
    const [member, twin] = membersOf(this.lead).filter((each) => each.id === id);
    if (member === undefined) {
      throw new FarmError('not_found', 'The draft has no such member.', { fields: [{ path, rule: 'member' }] });
    }
    if (twin === undefined) return member;
    throw new FarmError('illegal_state', 'Two members of the draft have this id, so that it names neither.', {
      fields: [{ path, rule: 'unique' }],
      hint: 'Replace the draft with a document in which each id stands once.',
    });
  }

  replace(id: string, change: (before: WorkflowMember) => WorkflowMember): WorkflowMember {
    const visit = (member: WorkflowMember): WorkflowMember => {
      if (member.id === id) return change(member);
      return member.children === undefined ? member : { ...member, children: member.children.map(visit) };
    };
    return visit(this.lead);
  }

  /** Who has nobody left has no list of children any more. */
  without(id: string): WorkflowMember {
    const visit = ({ children, ...member }: WorkflowMember): WorkflowMember => {
      if (children === undefined) return member;
      const left = children.filter((child) => child.id !== id).map(visit);
      return left.length === 0 && children.length > 0 ? member : { ...member, children: left };
    };
    return visit(this.lead);
  }
}

function giveIds(member: NewMember, from: number): { readonly member: WorkflowMember; readonly sequence: number } {
  let sequence = from;
  const visit = ({ children, ...fields }: NewMember): WorkflowMember => {
    const id = `member-${sequence}`;
    sequence += 1;
    return { id, ...definedFields(fields), ...(children && { children: children.map(visit) }) };
  };
  return { member: visit(member), sequence };
}

/** Depth first, in the order of the document. */
export function membersOf(member: WorkflowMember): readonly WorkflowMember[] {
  return [member, ...(member.children ?? []).flatMap(membersOf)];
}

const idsOf = (member: WorkflowMember): string[] => membersOf(member).map(({ id }) => id);

export function shapeOf(member: WorkflowMember, depth = 1): readonly { depth: number; children: number }[] {
  const children = member.children ?? [];
  return [{ depth, children: children.length }, ...children.flatMap((child) => shapeOf(child, depth + 1))];
}
