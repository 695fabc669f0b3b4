import { setTimeout as pause } from 'node:timers/promises';
import { limits } from '#contracts';
import type { HeldLease, SteerOrder } from '../claim/held-lease.js';
import type { MemberCalls } from '../member-door/member-calls.js';
import type { ProviderEvent, ProviderFailure } from '../provider/events.js';
import type { Delivery, ProviderSession } from '../provider/port.js';
import { scrubbedEvent } from '../provider/without-secrets.js';
import type { Ending } from './ending.js';
import { reminderText } from './reminder.js';
import { endOfFailure, type SessionEnd } from './session-end.js';

/** After a handover the turn may end by itself: its last words and its usage come then. */
const lastWordsMs = 2_000;

interface WatchNeeds {
  readonly session: ProviderSession;
  readonly calls: MemberCalls;
  readonly lease: HeldLease;
  readonly ending: Ending;
  /** It took more of the machine than it may: a sentence for the farm. */
  readonly overLimit: Promise<string>;
  readonly silenceMs: number;
  /** Reminders that the session had before, in another process. */
  readonly reminded: number;
  /** What nobody may see of what the session says (H35). */
  readonly secrets: readonly string[];
  /** Without secrets. */
  readonly onEvent: (event: ProviderEvent) => void;
  readonly onReminder: (count: number) => void;
  /** A signal reached the session or did not: tell the farm soon. */
  readonly onAcknowledged: () => void;
}

/**
 * Reads one session to its end and says how it ended: by a handover, by its failure, by silence, or because somebody ended it.
 * The end of a turn is known: without a handover the session is reminded, three times at most.
 */
export class SessionWatch {
  private readonly decided = Promise.withResolvers<SessionEnd>();
  private readonly exitSeen = Promise.withResolvers<Extract<ProviderEvent, { type: 'exit' }>>();
  private turnSeen = Promise.withResolvers<void>();
  private over = false;
  private accepted = false;
  private failure: ProviderFailure | undefined;
  private told: number;
  private finishedTurn = false;
  /** What became of each, once it is known, and under which lease the farm was told. */
  private readonly steered = new Map<number, { readonly outcome?: Delivery; readonly epoch: number }>();
  private readonly pumped: Promise<void>;
  private silence: NodeJS.Timeout | undefined;

  constructor(private readonly needs: WatchNeeds) {
    const { calls, ending, lease } = needs;
    this.told = needs.reminded;
    void calls.whenHandedOver.then(() => this.afterHandover());
    void ending.reached.then(() => this.afterEnding());
    void needs.overLimit.then((detail) => this.afterLimit(detail));
    lease.on('steer', (orders) => void this.steer(orders));
    lease.on('interrupt', () => {
      if (!this.over) void needs.session.interrupt();
    });
    this.pumped = this.pump();
    this.watchSilence();
  }

  /** All that the session was given so far. */
  get reminders(): number {
    return this.told;
  }

  async end(): Promise<SessionEnd> {
    const end = await this.decided.promise;
    this.over = true;
    clearTimeout(this.silence);
    return end;
  }

  /** Until the last event is read: after the tree was ended. */
  async drained(): Promise<void> {
    await this.pumped;
  }

  private async pump(): Promise<void> {
    const { session, lease, secrets, onEvent } = this.needs;
    for await (const said of session.events) {
      lease.touch();
      const event = scrubbedEvent(said, secrets);
      onEvent(event);
      this.take(event);
    }
  }

  private take(event: ProviderEvent): void {
    switch (event.type) {
      case 'session':
        this.accepted = true;
        break;
      case 'failed':
        this.failure = event.failure;
        void this.conclude();
        break;
      case 'turn_end':
        // one that failed waits for a word, too; one that was interrupted waits for whoever did it
        this.finishedTurn = event.how !== 'interrupted';
        if (this.finishedTurn) void this.afterTurn();
        this.turnSeen.resolve();
        break;
      case 'exit':
        this.finishedTurn &&= event.code === 0;
        this.exitSeen.resolve(event);
        this.turnSeen.resolve();
        void this.conclude();
        break;
      case 'message':
      case 'tool_call':
      case 'tool_result':
        this.finishedTurn = false;
        break;
    }
  }

  private async afterHandover(): Promise<void> {
    const { calls } = this.needs;
    await Promise.race([this.turnSeen.promise, pause(lastWordsMs, undefined, { ref: false })]);
    if (calls.handover !== undefined) this.decide({ ended: 'handover', handover: calls.handover });
  }

  /** A handover that was taken stands, whatever else ends the session (D8); only a lost lease voids it. */
  private afterEnding(): void {
    const { calls, ending } = this.needs;
    const { cause } = ending;
    if (cause === undefined) return;
    if (cause !== 'lost' && calls.handover !== undefined) this.decide({ ended: 'handover', handover: calls.handover });
    else this.decide({ ended: cause });
  }

  private async afterLimit(detail: string): Promise<void> {
    const { calls, session } = this.needs;
    if (this.over) return;
    // what it still writes counts against the machine
    await session.tree.freeze();
    await calls.settled();
    if (calls.handover === undefined) this.decide({ ended: 'crashed', detail });
  }

  /** The class of its failure, if it failed. */
  get failedBy(): ProviderFailure['class'] | undefined {
    return this.failure?.class;
  }

  /** The session failed or is gone: a call may still be on its way that hands over. */
  private async conclude(): Promise<void> {
    const { calls } = this.needs;
    await calls.settled();
    if (calls.handover !== undefined) return;
    if (!this.accepted) {
      this.decide({
        ended: 'refused',
        failure: this.failure ?? { class: 'crash', detail: 'It ended before it took the session.' },
      });
    } else if (this.failure !== undefined) this.decide(endOfFailure(this.failure));
    else if (this.finishedTurn)
      this.decide({ ended: 'silent', detail: 'The session ended without a handover.', goesOn: true });
    else this.decide({ ended: 'crashed', detail: 'The provider ended in the middle of its work.' });
  }

  private async afterTurn(): Promise<void> {
    const { calls, lease, session, onReminder } = this.needs;
    await calls.settled();
    // while no beat is answered nothing is sent or counted (D18)
    if ((await lease.sure()) === 'lost') return;
    if (this.over || calls.handover !== undefined || this.failure !== undefined || !this.finishedTurn) return;
    if (this.told >= limits.handoverReminders) {
      return this.decide({ ended: 'silent', detail: `No handover after ${this.told} reminders.` });
    }
    this.told += 1;
    const count = this.told;
    this.finishedTurn = false;
    this.turnSeen = Promise.withResolvers();
    const answer = await session.say({ kind: 'reminder', count, text: reminderText(count) });
    if (answer === 'delivered') return onReminder(count);
    // its process is at its end, or it takes nothing: the exit says which
    this.told -= 1;
    this.finishedTurn = true;
    await Promise.race([this.exitSeen.promise, pause(lastWordsMs, undefined, { ref: false })]);
    await this.conclude();
  }

  private async steer(orders: readonly SteerOrder[]): Promise<void> {
    const { session, lease } = this.needs;
    for (const { seq, text } of orders) {
      if (this.over) continue;
      const known = this.steered.get(seq);
      if (known !== undefined) {
        // The lease was given back to this very session: the farm could not know what it has heard.
        if (known.outcome !== undefined && known.epoch !== lease.epoch) this.tellOutcome(seq, known.outcome);
        continue;
      }
      this.steered.set(seq, { epoch: lease.epoch });
      let outcome = await session.steer(text);
      // between two turns: it begins one
      if (outcome === 'not_running' && !this.over) outcome = await session.say({ kind: 'continuation', text });
      this.tellOutcome(seq, outcome);
    }
  }

  private tellOutcome(seq: number, outcome: Delivery): void {
    const { lease, onAcknowledged } = this.needs;
    this.steered.set(seq, { outcome, epoch: lease.epoch });
    lease.acknowledge({ seq, outcome });
    onAcknowledged();
  }

  /** 45 minutes without a sign of life (D6); time without a sure lease does not count (D18). */
  private watchSilence(): void {
    const { lease, silenceMs, session, calls } = this.needs;
    const left = silenceMs - lease.idleMs;
    if (this.over) return;
    if (left <= 0 && lease.isSure && session.tree.state === 'running') {
      void calls.settled().then(() => {
        if (calls.handover === undefined) this.decide({ ended: 'silent', detail: 'The session gave no sign of life.' });
      });
      return;
    }
    this.silence = setTimeout(() => this.watchSilence(), Math.min(Math.max(left, 250), 60_000));
  }

  private decide(end: SessionEnd): void {
    this.decided.resolve(end);
  }
}
