import { z } from 'zod';
import { canonicalJson, FarmError } from '#contracts';
import type { Transaction } from '#store';
import type { MemberCaller } from '../api.js';
import { asJson } from '../as-json.js';
import { type Authority, authorize } from '../member/authority.js';
import type { TeamParts } from '../parts.js';
import type { HandoverBody } from './handover-body.js';
import { ruleOf } from './handover-rules.js';
import { keepHandover, nameCall, saidIn } from './kept-handover.js';

/** A member's call that hands over. */
export interface Said<Reply> {
  readonly operation: string;
  readonly input: unknown;
  /** What it would be with its ids reserved, and what the member is answered. Asked once: the same call again gets the kept reply. */
  readonly reserve: (authority: Authority) => Promise<{ readonly body: HandoverBody; readonly reply: Reply }>;
  readonly reply: z.ZodType<Reply>;
}

/**
 * Checked in full, its ids reserved, and nothing written but the receipt, until the work has arrived (H1, D2). The same handover
 * said again gets the kept answer; another one is refused.
 *
 * @throws what `authorize` and the rule of the kind throw; illegal_state for a second, different handover
 */
export async function handOver<Reply>(
  parts: TeamParts,
  tx: Transaction,
  caller: MemberCaller,
  said: Said<Reply>,
): Promise<Reply> {
  const authority = await authorize(parts, tx, caller);
  const { kept, key } = authority.handover;
  const { operation } = said;
  const input = z.json().parse(JSON.parse(canonicalJson(said.input)));
  if (kept) {
    if (canonicalJson(saidIn(kept)) !== canonicalJson({ operation, input })) throw another();
    await nameCall(tx, caller.job, caller.callId, kept.origin);
    return said.reply.parse(kept.reply);
  }
  const { body, reply } = await said.reserve(authority);
  await ruleOf(body).check(tx, authority);
  await keepHandover(tx, caller.job, key, { call_id: caller.callId, operation, input, body, reply: asJson(reply) });
  return reply;
}

function another(): FarmError {
  return new FarmError('illegal_state', 'This Dispatch has handed over in another way.', {
    hint: 'Stop: the first handover stands.',
  });
}
