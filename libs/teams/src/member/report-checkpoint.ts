import type { z } from 'zod';
import {
  type CheckpointInput,
  canonicalJson,
  type checkpoint,
  FarmError,
  type InputOf,
  newId,
  type OutputOf,
} from '#contracts';
import type { Transaction } from '#store';
import type { MemberCaller } from '../api.js';
import { recordCheckpoint } from '../dispatch/apply-handover.js';
import { checkCheckpoint } from '../dispatch/check-checkpoint.js';
import { bodyOf, keepHandover, nameCall } from '../dispatch/kept-handover.js';
import type { TeamParts } from '../parts.js';
import { type Authority, authorize, refuseAfterHandover } from './authority.js';

type Body = z.output<typeof CheckpointInput>;
type Reply = OutputOf<typeof checkpoint>;

/**
 * Progress is written at once. An outcome hands over: checked in full, its id reserved, and nothing written but the receipt, until
 * the work has arrived (H1, D2). The same handover said again gets the kept answer; another one is refused.
 *
 * @throws what `authorize` and `checkCheckpoint` throw; illegal_state for a second, different handover
 */
export async function reportCheckpoint(
  parts: TeamParts,
  tx: Transaction,
  caller: MemberCaller,
  input: InputOf<typeof checkpoint>,
): Promise<Reply> {
  const authority = await authorize(parts, tx, caller);
  if (input.outcome === undefined) {
    refuseAfterHandover(authority);
    const kept = { id: newId(), ...input };
    recordCheckpoint(parts, tx, authority, kept);
    return { checkpoint: kept, terminal: false, must_stop: false };
  }
  return authority.handover.kept
    ? sayAgain(tx, caller, authority.handover.kept, input)
    : handOver(tx, caller, authority, input);
}

async function handOver(tx: Transaction, caller: MemberCaller, authority: Authority, input: Body): Promise<Reply> {
  await checkCheckpoint(tx, authority, input);
  const reserved = { id: newId(), ...input };
  await keepHandover(tx, caller.job, authority.handover.key, { call_id: caller.callId, checkpoint: reserved });
  return { checkpoint: reserved, terminal: true, must_stop: true };
}

async function sayAgain(
  tx: Transaction,
  caller: MemberCaller,
  kept: NonNullable<Authority['handover']['kept']>,
  input: Body,
): Promise<Reply> {
  if (canonicalJson(bodyOf(kept)) !== canonicalJson(input)) {
    throw new FarmError('illegal_state', 'This Dispatch has handed over with another checkpoint.', {
      hint: 'Stop: the first handover stands.',
    });
  }
  await nameCall(tx, caller.job, caller.callId, kept.origin);
  return { checkpoint: kept.checkpoint, terminal: true, must_stop: true };
}
