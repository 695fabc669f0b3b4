import { checkpoint, type InputOf, newId, type OutputOf } from '#contracts';
import type { Transaction } from '#store';
import type { MemberCaller } from '../api.js';
import { recordCheckpoint } from '../checkpoint/record-checkpoint.js';
import { handOver } from '../handover/hand-over.js';
import type { TeamParts } from '../parts.js';
import { authorize, refuseAfterHandover } from './authority.js';

/** Progress is written at once; an outcome hands over. */
export async function reportCheckpoint(
  parts: TeamParts,
  tx: Transaction,
  caller: MemberCaller,
  input: InputOf<typeof checkpoint>,
): Promise<OutputOf<typeof checkpoint>> {
  if (input.outcome !== undefined) {
    return handOver(parts, tx, caller, {
      operation: checkpoint.name,
      input,
      reply: checkpoint.output,
      async reserve() {
        const reserved = { id: newId(), ...input };
        return {
          body: { kind: 'checkpoint', checkpoint: reserved },
          reply: { checkpoint: reserved, terminal: true, must_stop: true },
        };
      },
    });
  }
  const authority = await authorize(parts, tx, caller);
  refuseAfterHandover(authority);
  const kept = { id: newId(), ...input };
  recordCheckpoint(parts, tx, authority, kept);
  return { checkpoint: kept, terminal: false, must_stop: false };
}
