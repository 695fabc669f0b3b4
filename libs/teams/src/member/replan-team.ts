import { randomBytes } from 'node:crypto';
import { addChild, type InputOf, ReplanResult, removeChild, updateChild } from '#contracts';
import type { Transaction } from '#store';
import type { MemberCaller } from '../api.js';
import { foreseeTeam } from '../dispatch/direct-team.js';
import { handOver } from '../handover/hand-over.js';
import type { BodyOf } from '../handover/handover-body.js';
import type { TeamParts } from '../parts.js';
import { countNew } from '../replan/change-team.js';
import { planChange } from '../replan/replan-rule.js';
import type { Authority } from './authority.js';

type Change = BodyOf<'replan'>['change'];

export function addMember(
  parts: TeamParts,
  tx: Transaction,
  caller: MemberCaller,
  input: InputOf<typeof addChild>,
): Promise<ReplanResult> {
  return replan(parts, tx, caller, { operation: addChild.name, child: input.child }, input);
}

export function updateMember(
  parts: TeamParts,
  tx: Transaction,
  caller: MemberCaller,
  input: InputOf<typeof updateChild>,
): Promise<ReplanResult> {
  return replan(parts, tx, caller, { operation: updateChild.name, ...input }, input);
}

export function removeMember(
  parts: TeamParts,
  tx: Transaction,
  caller: MemberCaller,
  input: InputOf<typeof removeChild>,
): Promise<ReplanResult> {
  return replan(parts, tx, caller, { operation: removeChild.name, ...input }, input);
}

/** Changes the caller's own branch and hands over: the same attempt goes on with the team as it is then. */
function replan(
  parts: TeamParts,
  tx: Transaction,
  caller: MemberCaller,
  change: Change,
  input: unknown,
): Promise<ReplanResult> {
  return handOver(parts, tx, caller, {
    operation: change.operation,
    input,
    reply: ReplanResult,
    async reserve(authority) {
      const reserved = Array.from({ length: countNew(change) }, newMemberId);
      const result = await foresee(tx, authority, change, reserved);
      return { body: { kind: 'replan', change, reserved, result }, reply: result };
    },
  });
}

/** Ids of a Task are never used again: 64 random bits. */
const newMemberId = (): string => `member-${randomBytes(8).toString('hex')}`;

async function foresee(
  tx: Transaction,
  authority: Authority,
  change: Change,
  reserved: readonly string[],
): Promise<ReplanResult> {
  const planned = await planChange(tx, authority, { change, reserved });
  const team = await foreseeTeam(tx, authority, planned.before, planned.team);
  return {
    operation: change.operation,
    created_ids: [...planned.created],
    updated_ids: [...planned.updated],
    removed_ids: [...planned.removed],
    ...team,
    must_stop: true,
  };
}
