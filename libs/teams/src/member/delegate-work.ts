import { delegate, type InputOf, newId, type OutputOf } from '#contracts';
import type { Transaction } from '#store';
import type { MemberCaller } from '../api.js';
import { handOver } from '../handover/hand-over.js';
import type { TeamParts } from '../parts.js';

/** Gives work to direct children and hands over: the member goes on when all of them have reported. */
export function delegateWork(
  parts: TeamParts,
  tx: Transaction,
  caller: MemberCaller,
  input: InputOf<typeof delegate>,
): Promise<OutputOf<typeof delegate>> {
  return handOver(parts, tx, caller, {
    operation: delegate.name,
    input,
    reply: delegate.output,
    async reserve() {
      const children = input.assignments.map((child) => ({ assignment: newId(), ...child }));
      return {
        body: { kind: 'delegate', wave: newId(), children },
        reply: { accepted: true, members: children.map(({ child_id }) => ({ child_id })), must_stop: true },
      };
    },
  });
}
