import { FarmError, limits } from '#contracts';

/** One thing wrong, at a place in the document. */
export interface TreeFault {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

interface FoundMember {
  readonly id: unknown;
  readonly path: readonly PropertyKey[];
  readonly depth: number;
}

/** Rules over the whole tree, which no schema of one member can see. Takes documents that the schema refuses, too. */
export function checkTree(workflow: unknown): readonly TreeFault[] {
  const faults: TreeFault[] = [];
  const seen = new Set<unknown>();
  let count = 0;
  for (const member of membersOf(workflow)) {
    count += 1;
    if (count === limits.workflowMembers + 1) {
      faults.push({ path: member.path, message: `A workflow has at most ${limits.workflowMembers} members.` });
    }
    if (member.depth === limits.workflowDepth + 1) {
      faults.push({ path: member.path, message: `A team is at most ${limits.workflowDepth} members deep.` });
    }
    if (typeof member.id !== 'string') continue;
    if (seen.has(member.id)) faults.push({ path: [...member.path, 'id'], message: 'Two members have this id.' });
    seen.add(member.id);
  }
  return faults;
}

/** @throws budget_exhausted: what is added makes the tree larger than one may be. */
export function refuseOversize(team: readonly { readonly depth: number; readonly children: number }[]): void {
  const over =
    (team.length > limits.workflowMembers && `${limits.workflowMembers} members`) ||
    (team.some(({ depth }) => depth > limits.workflowDepth) && `${limits.workflowDepth} levels`) ||
    (team.some(({ children }) => children > limits.workflowChildren) &&
      `${limits.workflowChildren} direct children of one member`);
  if (over === false) return;
  throw new FarmError('budget_exhausted', `A team has at most ${over}.`, { hint: 'Remove members first.' });
}

/** Depth first, in the order of the document. */
function membersOf(workflow: unknown): readonly FoundMember[] {
  const found: FoundMember[] = [];
  const open: { value: unknown; path: readonly PropertyKey[]; depth: number }[] = [];
  if (isRecord(workflow)) open.push({ value: workflow.lead, path: ['lead'], depth: 1 });
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, path, depth } = next;
    if (!isRecord(value)) continue;
    found.push({ id: value.id, path, depth });
    const children = Array.isArray(value.children) ? value.children : [];
    for (let at = children.length - 1; at >= 0; at -= 1) {
      open.push({ value: children[at], path: [...path, 'children', at], depth: depth + 1 });
    }
  }
  return found;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
