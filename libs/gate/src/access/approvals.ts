import {
  type ApprovalState,
  ApprovalView,
  FarmError,
  limits,
  newApprovalId,
  type Preview,
  type Proposal,
} from '#contracts';
import type { Queries, Transaction } from '#store';
import { type CallerIdentity, hasRole, type PersonPrincipal, type PersonRole } from '../principal.js';
import { type ApprovalRow, consentSql } from '../sql/consent.js';
import { type Bound, tooManyPending } from './confirmation-tickets.js';

interface Asking {
  readonly bound: Bound;
  readonly by: CallerIdentity;
  /** The least role of who may decide. */
  readonly role: PersonRole;
  readonly proposal: Proposal;
  readonly most: number;
}

/**
 * A person is asked, once for the very same proposal: an agent whose token ran out, or who came too early and burned it, proposes
 * again and waits for the same answer (A1.9). The caller's lock is held. @throws too_many_pending
 */
export async function askApproval(tx: Transaction, asking: Asking): Promise<string> {
  const { bound, by, role, proposal, most } = asking;
  const of = {
    caller: bound.caller,
    operation: bound.operation,
    input_hash: Buffer.from(bound.input_hash, 'base64url'),
    digest: Buffer.from(bound.digest, 'base64url'),
  };
  const same = await tx.first(consentSql.sameApproval, of);
  if (same) return same.id;
  const { summary, changes, count } = proposal;
  const asked = await tx.first(consentSql.askApproval, {
    ...of,
    id: newApprovalId(),
    actor: by.actor,
    agent_id: by.agent_id,
    role,
    summary,
    changes: JSON.stringify(changes),
    change_count: count,
    seconds: limits.approvalSeconds,
    most,
  });
  if (!asked) throw tooManyPending();
  return asked.id;
}

/** @throws awaiting_approval; not_allowed when a person has said no; confirmation_invalid when it is over or was used */
export async function checkApproval(queries: Queries, id: string): Promise<void> {
  const row = await queries.first(consentSql.approval, { id });
  if (!row?.live || row.state === 'used') throw new FarmError('confirmation_invalid');
  if (row.state === 'refused') throw new FarmError('not_allowed', 'A person has refused this.');
  if (row.state === 'pending')
    throw new FarmError('awaiting_approval', undefined, {
      hint: 'Propose it again after a person has approved it, and confirm with the new token.',
    });
}

/** With the effect that it is for, so that one approval is one effect. False: it may not be used. */
export async function useApproval(tx: Transaction, id: string): Promise<boolean> {
  return (await tx.first(consentSql.useApproval, { id })) !== undefined;
}

export async function listApprovals(
  queries: Queries,
  { state, limit }: { readonly state: ApprovalState; readonly limit: number },
): Promise<ApprovalView[]> {
  return (await queries.all(consentSql.approvals, { state, limit })).map(viewOf);
}

interface Decision {
  readonly approval_id: string;
  readonly decision: 'approve' | 'refuse';
}

/** What is decided, for the person who decides. @throws not_found, conflict */
export async function previewDecision(queries: Queries, { approval_id, decision }: Decision): Promise<Preview> {
  const { operation, summary, change_count, changes, agent_id, actor } = await pendingApproval(queries, approval_id);
  const of = `${agent_id ?? 'an agent'}${actor === null ? '' : ` of ${actor}`}`;
  return {
    summary: `${decision === 'approve' ? 'Lets' : 'Forbids'} ${of} to run ${operation}: ${summary}`,
    changes: [
      {
        id: approval_id,
        before: { state: 'pending' },
        after: { state: decision === 'approve' ? 'approved' : 'refused', count: change_count, changes },
      },
    ],
  };
}

/** Persons only: the operation has the ceiling never (A3.8). @throws not_found, conflict, not_allowed */
export async function decideApproval(
  tx: Transaction,
  person: PersonPrincipal,
  { approval_id, decision }: Decision,
): Promise<'approved' | 'refused'> {
  if (person.service) throw new FarmError('not_allowed', 'A service token approves nothing: a person does.');
  const row = await pendingApproval(tx, approval_id);
  if (!hasRole(person, row.role))
    throw new FarmError('not_allowed', `Who decides this has the role ${row.role}, as the operation itself asks for.`);
  const state = decision === 'approve' ? 'approved' : 'refused';
  if (!(await tx.first(consentSql.decide, { id: approval_id, state, by: person.id }))) throw decided();
  return state;
}

/** Drops what nobody asks about any more. Answers how many. */
export function forgetApprovals(queries: Queries): Promise<number> {
  return queries.run(consentSql.forgetApprovals);
}

async function pendingApproval(queries: Queries, id: string): Promise<ApprovalRow> {
  const row = await queries.first(consentSql.approval, { id });
  if (!row)
    throw new FarmError('not_found', 'There is no such approval.', { hint: '`longshore approval list` names them.' });
  if (row.state !== 'pending' || !row.live) throw decided();
  return row;
}

function decided(): FarmError {
  return new FarmError('conflict', 'This was decided before, or is over.');
}

function viewOf(row: ApprovalRow): ApprovalView {
  return ApprovalView.parse({
    approval_id: row.id,
    operation: row.operation,
    agent_id: row.agent_id,
    actor: row.actor,
    summary: row.summary,
    changes: row.changes,
    count: row.change_count,
    state: row.state,
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at.toISOString(),
    decided_by: row.decided_by,
  });
}
