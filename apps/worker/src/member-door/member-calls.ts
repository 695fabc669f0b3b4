import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { canonicalJson, FarmError, FileReferences, newId } from '#contracts';
import type { HeldLease, LeaseFence } from '../claim/held-lease.js';
import type { Farm } from '../controller/farm.js';
import { untilAnswered } from '../controller/until-answered.js';
import { scrubbedJson } from '../provider/without-secrets.js';
import type { MemberExposure } from './member-tools.js';

/** A call that hands over: what `job_complete` names (D2). */
export interface Handover {
  readonly call_id: string;
  readonly operation: string;
  readonly input: unknown;
  readonly reply: unknown;
  /** Files that it names: captured even when ignored (H20). */
  readonly files: readonly string[];
}

interface CallNeeds {
  readonly farm: Farm;
  readonly lease: HeldLease;
  /** @throws FarmError `invalid_task_path` */
  readonly checkFiles: (paths: readonly string[]) => Promise<void>;
  /** Kept beside the workspace before the member hears of it. */
  readonly keep: (handover: Handover) => Promise<void>;
  /** Operations that this member may call; of an older controller, which says none: those of every member. */
  readonly exposure?: MemberExposure | undefined;
  /** What no call may carry out of this machine (H35). */
  readonly secrets: readonly string[];
  readonly signal: AbortSignal;
}

const ofEveryMember: MemberExposure = { tools: ['get_current_context', 'set_work_plan', 'checkpoint'], humanKinds: [] };

/**
 * The calls of one Dispatch, one at a time (D2). Each is repeated under its own id until the farm has answered, so that a lost
 * answer is answered again and not done again; while the lease is not sure it waits. The first handover that the farm took closes
 * the door: the same body again gets the same reply, all else is refused (I5).
 */
export class MemberCalls {
  private turn: Promise<unknown> = Promise.resolve();
  private taken: Handover | undefined;
  private readonly handedOver = Promise.withResolvers<Handover>();

  constructor(private readonly needs: CallNeeds) {}

  get exposure(): MemberExposure {
    return this.needs.exposure ?? ofEveryMember;
  }

  get handover(): Handover | undefined {
    return this.taken;
  }

  /** Resolves with the first handover that was taken; may never. */
  get whenHandedOver(): Promise<Handover> {
    return this.handedOver.promise;
  }

  /**
   * The operation's answer.
   *
   * @throws FarmError the operation's codes · `stale_dispatch` after a handover · `stale_lease`
   */
  call(operation: string, input: unknown): Promise<unknown> {
    const answer = this.turn.then(() => this.callNow(operation, input));
    this.turn = answer.catch(() => undefined);
    return answer;
  }

  /** Waits until no call is under way: only then is it known whether there was a handover. */
  async settled(): Promise<void> {
    let seen: unknown;
    do {
      seen = this.turn;
      await seen;
    } while (seen !== this.turn);
  }

  private async callNow(operation: string, said: unknown): Promise<unknown> {
    const { lease, checkFiles, keep, secrets } = this.needs;
    // before anything else sees it: what is sent, kept and compared is the same
    const input = scrubbedJson(said, secrets);
    lease.touch();
    if (this.taken !== undefined) return this.afterHandover(this.taken, operation, input);
    const files = filesOf(input);
    await checkFiles(files);
    const callId = newId();
    const reply = await this.forward(operation, input, callId);
    lease.touch();
    if (!mustStop(reply)) return reply;
    const handover = { call_id: callId, operation, input, reply, files };
    await keep(handover);
    this.taken = handover;
    this.handedOver.resolve(handover);
    return reply;
  }

  private async forward(operation: string, input: unknown, callId: string): Promise<unknown> {
    const { farm, lease, signal } = this.needs;
    for (;;) {
      signal.throwIfAborted();
      if ((await lease.sure()) === 'lost') throw leaseLost();
      const fence: LeaseFence = lease.fence;
      try {
        return await untilAnswered(
          // at each try the token that the last beat brought
          () => farm.post(operation, input, { jobToken: lease.token, callId, signal, timeoutMs: 30_000 }),
          { signal, mostMs: 2_000 },
        );
      } catch (error) {
        if (!(error instanceof FarmError) || error.code !== 'stale_lease') throw error;
        // the lease may be given back at the next epoch: the same call goes on then
        lease.question(fence);
        await pause(50, undefined, { signal });
      }
    }
  }

  private afterHandover(taken: Handover, operation: string, input: unknown): unknown {
    if (operation === taken.operation && canonicalJson(input) === canonicalJson(taken.input)) return taken.reply;
    throw new FarmError('stale_dispatch', 'You have handed over already: this Dispatch takes no further call.', {
      hint: 'Stop now. The work counts when it has arrived.',
    });
  }
}

function leaseLost(): FarmError {
  return new FarmError('stale_lease', 'This Dispatch is no longer held by this machine.', { hint: 'Stop now.' });
}

function mustStop(reply: unknown): boolean {
  return typeof reply === 'object' && reply !== null && 'must_stop' in reply && reply.must_stop === true;
}

const Naming = z.object({ files: FileReferences.optional().catch([]) });
const Delegating = z.object({ assignments: z.array(Naming) });

/** The paths that a call names, of its own and of each Assignment in it; a list that does not hold is left to the controller to refuse. */
function filesOf(input: unknown): readonly string[] {
  const own = Naming.safeParse(input).data?.files ?? [];
  const given = Delegating.safeParse(input).data?.assignments.flatMap(({ files = [] }) => files) ?? [];
  return [...new Set([...own, ...given].map(({ path }) => path))];
}
