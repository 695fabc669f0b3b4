import { ConfirmedReceipt, FarmError, type Preview } from '#contracts';
import { claimReceipt, type Database, keepReply, type ReceiptKey, readReceipt, type Transaction } from '#store';
import type { InputHasher } from '../keys/farm-keys.js';
import type { Call, Operation, ReadInput } from '../operation.js';
import { type CallerIdentity, callerOf } from '../principal.js';
import { consentSql } from '../sql/consent.js';
import { askApproval, checkApproval, useApproval } from './approvals.js';
import { type Bound, hashOfToken, isSame, issueTicket, type TakenTicket, takeTicket } from './confirmation-tickets.js';
import type { GateRules } from './gate-rules.js';
import { digestOf, proposalOf } from './proposal.js';

interface ConfirmationOptions {
  readonly database: Database;
  readonly inputs: InputHasher;
  readonly rules: GateRules;
}

/** A call whose input has been read, on its way to step 4. */
export interface Asked<Services> {
  readonly operation: Operation<Services>;
  readonly read: ReadInput<Services>;
  readonly call: Call<Services>;
}

/** A token that was shown. It is burned by now. */
export interface Presented {
  readonly hash: Buffer;
  readonly ticket: TakenTicket | undefined;
}

/** A confirmation that holds so far: what is left is to be seen in the transaction of the effect. */
export interface Consent {
  readonly receipt: ReceiptKey;
  readonly bound: Bound;
}

/** A refusal of step 4 that only the transaction of the effect can see: nothing was done, and nothing is audited. */
export class NotAsProposed extends Error {
  override readonly name = 'NotAsProposed';
  constructor(readonly refusal: FarmError) {
    super(refusal.message);
  }
}

/** Step 4: people say that they mean it; agents look twice (A6). */
export class Confirmations {
  constructor(private readonly options: ConfirmationOptions) {}

  /** Before anything else of the call is looked at: whatever ends it, the token is burned (A6.10, A6.11). */
  async take(token: string): Promise<Presented> {
    const hash = hashOfToken(token);
    return { hash, ticket: await takeTicket(this.options.database, hash) };
  }

  /**
   * Nothing: the call may run as it is.
   *
   * @throws confirmation_required with the proposal, confirmation_invalid, already_done, awaiting_approval, too_many_pending,
   *   not_confirmed
   */
  async judge<Services>(
    asked: Asked<Services>,
    confirm: boolean,
    presented: Presented | undefined,
  ): Promise<Consent | undefined> {
    const { access } = asked.operation;
    const caller = callerOf(asked.call.principal, asked.call.door);
    if (presented) return await this.accept(asked, caller, presented);
    if (access.class !== 'mutate') return undefined;
    if (caller.class === 'system') {
      // A1.7: nobody is there who could confirm.
      if (!access.internal) throw new FarmError('not_confirmed');
      return undefined;
    }
    if (caller.class === 'agent') return await this.proposeToAgent(asked, caller);
    if (confirm || access.consent === 'implied') return undefined;
    return await this.proposeToPerson(asked);
  }

  /**
   * In the transaction of the effect, before it: what was proposed is what would be done now (A6.16), and the person who approved
   * it approved this one time. @throws NotAsProposed changed_since_proposal, awaiting_approval
   */
  async check<Services>(tx: Transaction, { bound }: Consent, asked: Asked<Services>): Promise<void> {
    const { operation, read, call } = asked;
    if (bound.approval !== undefined && !(await useApproval(tx, bound.approval)))
      throw new NotAsProposed(new FarmError('awaiting_approval'));
    // All waiting ends before the world is looked at: what the preview reads is what `run` will change (H12).
    await read.lock?.(call, tx);
    const now = digestOf(await previewOf(asked, tx), operation.name, this.options.inputs).toString('base64url');
    if (!isSame(now, bound.digest))
      throw new NotAsProposed(
        new FarmError('changed_since_proposal', undefined, {
          hint: 'Call it without a token to see what it would change now.',
        }),
      );
  }

  /** The row that a lost answer is asked for by, with the effect (A6.17, H42). */
  async beginReceipt(tx: Transaction, { receipt, bound }: Consent): Promise<void> {
    await claimReceipt(tx, receipt, bound.input_hash);
  }

  keepReceipt(tx: Transaction, { receipt }: Consent, operation: Operation<unknown>, output: unknown): void {
    const kept: ConfirmedReceipt = {
      outcome: 'ok',
      done_at: new Date().toISOString(),
      ...(operation.access.answer !== 'secret' && { result: output }),
    };
    keepReply(tx, receipt, kept);
  }

  private async accept<Services>(
    asked: Asked<Services>,
    caller: CallerIdentity,
    { hash, ticket }: Presented,
  ): Promise<Consent> {
    const { operation, read } = asked;
    const wanted = this.boundOf(operation, read, caller);
    const receipt: ReceiptKey = {
      caller: wanted.caller,
      operation: operation.name,
      key: `confirmed ${hash.toString('base64url')} ${wanted.input_hash}`,
    };
    if (!ticket) throw await this.doneOrInvalid(receipt);
    const { bound, live } = ticket;
    if (!live || !isSame(keyOf(bound), keyOf(wanted))) throw invalid();
    if ((operation.access.approval === 'person') !== (bound.approval !== undefined)) throw invalid();
    if (bound.approval !== undefined) await checkApproval(this.options.database, bound.approval);
    return { receipt, bound };
  }

  /** Who was answered before and lost the answer hears that it is done, or was begun; everybody else the one refusal (A6.12, A6.17). */
  private async doneOrInvalid(receipt: ReceiptKey): Promise<FarmError> {
    const kept = await readReceipt(this.options.database, receipt);
    if (!kept.known) return invalid();
    // An effect outside of our database that was announced, and whose end nobody told.
    if (kept.reply === null)
      return new FarmError('conflict', 'This was begun before; whether it was done is not known', {
        hint: 'Look whether it was done. To do it again, call it without a token for a new proposal.',
      });
    return new FarmError('already_done', undefined, { receipt: ConfirmedReceipt.parse(kept.reply) });
  }

  /** They can just say that they mean it: no token (A6.2). */
  private async proposeToPerson<Services>(asked: Asked<Services>): Promise<never> {
    const { operation, read } = asked;
    const { database, rules } = this.options;
    const preview = read.preview && (await database.reading((tx) => previewOf(asked, tx)));
    throw new FarmError('confirmation_required', preview?.summary ?? `This would run ${operation.name}`, {
      hint: 'Call it again with `confirm: true` (`--yes` at the command line).',
      ...(preview && { proposal: proposalOf(preview, rules.proposalChangesShown) }),
    });
  }

  private async proposeToAgent<Services>(asked: Asked<Services>, caller: CallerIdentity): Promise<never> {
    const { operation, read } = asked;
    const { database, inputs, rules } = this.options;
    const preview = await database.reading((tx) => previewOf(asked, tx));
    const shown = proposalOf(preview, rules.proposalChangesShown);
    const most = rules.maxPendingConfirmations;
    const bound: Bound = {
      ...this.boundOf(operation, read, caller),
      digest: digestOf(preview, operation.name, inputs).toString('base64url'),
    };
    const proposal = await database.transaction(async (tx) => {
      await tx.first(consentSql.lockCaller, { caller: bound.caller });
      await tx.run(consentSql.prune, { caller: bound.caller });
      const { role } = operation.access;
      const approval =
        operation.access.approval === 'person'
          ? await askApproval(tx, { bound, by: caller, role, proposal: shown, most })
          : undefined;
      const issued = await issueTicket(tx, {
        bound: { ...bound, ...(approval !== undefined && { approval }) },
        seconds: rules.confirmTtlSeconds,
        most,
      });
      return {
        ...shown,
        confirmation_token: issued.token,
        expires_at: issued.expiresAt.toISOString(),
        ...(approval !== undefined && { approval_id: approval }),
      };
    });
    throw new FarmError('confirmation_required', preview.summary, {
      hint: 'Nothing was done. If it is meant, call it again with the same input and the confirmation token.',
      proposal,
    });
  }

  /** Under the very schema that read it: another version of the operation is another operation (A6.7). */
  private boundOf(
    operation: Operation<unknown>,
    read: ReadInput<never>,
    caller: CallerIdentity,
  ): Omit<Bound, 'digest'> {
    const { class: by, actor, agent_id } = caller;
    return {
      operation: operation.name,
      input_hash: this.options.inputs
        .hash(`${operation.name} ${operation.inputVersion}`, read.value)
        .toString('base64url'),
      caller: JSON.stringify([by, actor, agent_id]),
    };
  }
}

/** An agent never reaches a mutation without one (A2.4, A3.7). */
function previewOf<Services>({ operation, read, call }: Asked<Services>, tx: Transaction): Promise<Preview> {
  if (!read.preview) throw new TypeError(`${operation.name} can not say what it would do`);
  return read.preview(call, tx);
}

const keyOf = ({ operation, input_hash, caller }: Omit<Bound, 'digest'>): string =>
  JSON.stringify([operation, input_hash, caller]);

/** One refusal for all that is wrong with a token (A6.12). */
function invalid(): FarmError {
  return new FarmError('confirmation_invalid', undefined, {
    hint: 'A token holds once, for the same call by the same caller. Call it without one for a new proposal.',
  });
}
