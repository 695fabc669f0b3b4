import { randomUUID } from 'node:crypto';
import { cutText } from '../events.js';
import { scriptWhenThereIsNone } from './example-script.js';
import { continuationKind, findScript } from './find-script.js';
import { MemberClient } from './member-client.js';
import { failureOf, performStep } from './perform-step.js';
import type { ScriptedOrder, ScriptedReport } from './protocol.js';
import { parseScript, type Script, type ScriptMistake, type Step } from './script.js';

type Begin = Extract<ScriptedOrder, { type: 'begin' }>;
type Later = Exclude<ScriptedOrder, Begin>;

/** The session of one Dispatch: turns of steps, one at a time, and orders that come in between. */
export class ScriptedSession {
  private turn: AbortController | undefined;
  private reminder = 0;

  private constructor(
    private readonly begun: Begin,
    private readonly script: Script,
    private readonly door: MemberClient,
    private readonly emit: (report: ScriptedReport) => Promise<void>,
    private readonly over: () => void,
  ) {}

  /** Finds the script and begins; undefined where the session was refused, which has been reported. */
  static async begin(
    begin: Begin,
    emit: (report: ScriptedReport) => Promise<void>,
    over: () => void,
  ): Promise<ScriptedSession | undefined> {
    const parsed = parseScript(findScript(begin.instructions, begin.input) ?? scriptWhenThereIsNone);
    if (!parsed.ok) {
      await emit({ type: 'failed', failure: { class: 'invalid', detail: describeMistakes(parsed.mistakes) } });
      return undefined;
    }
    const session = new ScriptedSession(begin, parsed.script, await MemberClient.fromFile(begin.door_file), emit, over);
    const refusal = session.stepsNow(parsed.script.steps)[0]?.fail;
    if (refusal?.refuse_start === true) {
      await emit({ type: 'failed', failure: failureOf(refusal) });
      return undefined;
    }
    await emit({ type: 'session', ref: randomUUID() });
    return session;
  }

  start(): Promise<void> {
    return this.play(this.script.steps);
  }

  /** Answers the order at once; a turn that it begins goes on by itself. */
  async hear(order: Later): Promise<void> {
    const running = this.turn;
    if (order.type === 'say') {
      await this.emit({ type: 'ack', id: order.id, delivery: running === undefined ? 'delivered' : 'not_running' });
      if (running !== undefined) return;
      if (order.kind === 'reminder') this.reminder = order.count;
      void this.play(order.kind === 'reminder' ? this.script.on_reminder : this.script.on_continuation);
      return;
    }
    await this.emit({ type: 'ack', id: order.id, delivery: running === undefined ? 'not_running' : 'delivered' });
    if (order.type === 'interrupt') running?.abort();
    else if (running !== undefined) await this.emit({ type: 'message', text: cutText(`I was told: ${order.text}`) });
  }

  private async play(steps: readonly Step[]): Promise<void> {
    const turn = new AbortController();
    this.turn = turn;
    const how = await this.playSteps(this.stepsNow(steps), turn.signal).catch(() => 'interrupted' as const);
    this.turn = undefined;
    if (how === 'over') this.over();
    else await this.emit({ type: 'turn_end', how: turn.signal.aborted ? 'interrupted' : how });
  }

  private async playSteps(steps: readonly Step[], interrupted: AbortSignal): Promise<'finished' | 'failed' | 'over'> {
    for (const step of steps) {
      interrupted.throwIfAborted();
      const outcome = await performStep(step, { door: this.door, interrupted, emit: this.emit });
      if (outcome === 'end') break;
      if (outcome !== 'next') return outcome;
    }
    return 'finished';
  }

  private stepsNow(steps: readonly Step[]): readonly Step[] {
    const continuation = continuationKind(this.begun.input);
    return steps.filter(({ when }) => {
      const epochs = when?.epoch === undefined ? [this.begun.epoch] : [when.epoch].flat();
      return (
        epochs.includes(this.begun.epoch) &&
        (when?.reminder ?? this.reminder) === this.reminder &&
        (when?.continuation ?? continuation) === continuation
      );
    });
  }
}

function describeMistakes(mistakes: readonly ScriptMistake[]): string {
  return cutText(
    ['The script does not hold:', ...mistakes.map(({ line, message }) => `line ${line}: ${message}`)].join('\n'),
  );
}
