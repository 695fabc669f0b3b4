import { type InputOf, newId, type OutputOf, openHumanRequest } from '#contracts';
import type { Transaction } from '#store';
import type { MemberCaller } from '../api.js';
import { handOver } from '../handover/hand-over.js';
import type { TeamParts } from '../parts.js';

/** Asks a person and hands over: the member goes on with the answer, or with the fact that there is none. */
export function askHuman(
  parts: TeamParts,
  tx: Transaction,
  caller: MemberCaller,
  input: InputOf<typeof openHumanRequest>,
): Promise<OutputOf<typeof openHumanRequest>> {
  return handOver(parts, tx, caller, {
    operation: openHumanRequest.name,
    input,
    reply: openHumanRequest.output,
    async reserve() {
      const id = newId();
      return {
        body: { kind: 'human_request', id, request: input.request },
        reply: { request_id: id, status: 'open', must_stop: true },
      };
    },
  });
}
