import { z } from 'zod';
import { ApprovalId } from './ids.js';

/** One thing that a mutation would change. `before` is null for what it would make, `after` for what it would end. */
export const Change = z.strictObject({ id: z.string(), before: z.unknown(), after: z.unknown() });
export type Change = Readonly<z.output<typeof Change>>;

/** What a mutation would do, whole. The gate shows a part of it and tells the number (A6.4). */
export interface Preview {
  readonly summary: string;
  /** Every change, in any order. The same state of the farm answers the same list, or a confirmation would be refused (A6.16). */
  readonly changes: readonly Change[];
}

/** What an unconfirmed mutation would do (A6.2, A6.3). */
export const Proposal = z.strictObject({
  summary: z.string(),
  /** The first ones, in order of id. */
  changes: z.array(Change).readonly(),
  /** The true number of changes. */
  count: z.int().min(0),
  /** Agents only: single use, for the same operation, input and caller. */
  confirmation_token: z.string().optional(),
  /** Of the token. */
  expires_at: z.iso.datetime().optional(),
  /** A person must approve this first (A1.9). */
  approval_id: ApprovalId.optional(),
});
export type Proposal = Readonly<z.output<typeof Proposal>>;

/** What is kept of a confirmed call that was done: its token asks for this and does nothing a second time (A6.17). */
export const ConfirmedReceipt = z.strictObject({
  outcome: z.literal('ok'),
  done_at: z.iso.datetime(),
  /** What the call answered; not there where it was a secret, which is shown once (H41). */
  result: z.unknown().optional(),
});
export type ConfirmedReceipt = Readonly<z.output<typeof ConfirmedReceipt>>;
