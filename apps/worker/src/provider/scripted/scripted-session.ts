import { cutText } from '../events.js';
import { MemberClient } from './member-client.js';
import { failureOf, performStep } from './perform-step.js';
import type { ScriptedOrder, ScriptedReport } from './protocol.js';
import { parseScript, type Script, type ScriptMistake, type Step, type When } from './script.js';
import { newMemory, readMemory, type SessionMemory, writeMemory } from './session-memory.js';

type Begin = Extract<ScriptedOrder, { type: 'begin' }>;
type Later = Exclude<ScriptedOrder, Begin>;

/** The session of one Dispatch: turns of steps, one at a time, and orders that come in between. */
export class ScriptedSession {
  private turn: AbortController | undefined;
  private leaving = false;

  private constructor(
    private readonly begun: Begin,
    private readonly script: Script,
    private readonly door: MemberClient,
    private readonly emit: (report: ScriptedReport) => Promise<void>,
    private readonly leave: (code: number) => void,
    private readonly memory: SessionMemory,
  ) {}

  /** Finds the script and begins, or goes on; undefined where the session was refused, which has been reported. */
  static async begin(
    begin: Begin,
    emit: (report: ScriptedReport) => Promise<void>,
    leave: (code: number) => void,
  ): Promise<ScriptedSession | undefined> {
    const { instructions, input, ref, memory_file } = begin;
    const memory = ref === undefined ? newMemory(instructions, input) : await readMemory(memory_file, ref);
    if (memory === undefined) {
      await emit({ type: 'failed', failure: { class: 'invalid', detail: 'There is no such session to go on with.' } });
      return undefined;
    }
    const parsed = parseScript(memory.script);
    if (!parsed.ok) {
      await emit({ type: 'failed', failure: { class: 'invalid', detail: describeMistakes(parsed.mistakes) } });
      return undefined;
    }
    const door = await MemberClient.fromFile(begin.door_file);
    const session = new ScriptedSession(begin, parsed.script, door, emit, leave, memory);
    if (session.firstSteps === undefined) {
      await emit({
        type: 'failed',
        failure: { class: 'invalid', detail: 'No round of the script fits this Dispatch.' },
      });
      return undefined;
    }
    const refusal = session.stepsNow(session.firstSteps)[0]?.fail;
    if (refusal?.refuse_start === true) {
      await emit({ type: 'failed', failure: failureOf(refusal) });
      return undefined;
    }
    await writeMemory(memory_file, memory);
    await emit({ type: 'session', ref: memory.ref });
    if (ref !== undefined) await emit({ type: 'message', text: cutText(`I was told: ${input}`) });
    return session;
  }

  start(): Promise<void> {
    return this.play(this.firstSteps ?? []);
  }

  /** What a process that goes on with a session was told is a reminder. */
  private get firstSteps(): readonly Step[] | undefined {
    if (this.begun.ref !== undefined) return this.script.on_reminder;
    return this.script.rounds?.find(({ when }) => this.fits(when))?.steps ?? this.script.steps;
  }

  /** Answers the order at once; a turn that it begins goes on by itself. */
  async hear(order: Later): Promise<void> {
    const running = this.turn;
    if (this.leaving) return;
    if (order.type === 'say') {
      await this.emit({ type: 'ack', id: order.id, delivery: running === undefined ? 'delivered' : 'not_running' });
      if (running !== undefined) return;
      if (order.kind === 'reminder') {
        this.memory.reminder = order.count;
        await writeMemory(this.begun.memory_file, this.memory);
      }
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
    if (how === 'over') return this.leave(1);
    const end = how === 'left' ? 'finished' : how;
    this.leaving = how === 'left';
    await this.emit({ type: 'turn_end', how: turn.signal.aborted ? 'interrupted' : end });
    if (how === 'left') this.leave(0);
  }

  private async playSteps(
    steps: readonly Step[],
    interrupted: AbortSignal,
  ): Promise<'finished' | 'left' | 'failed' | 'over'> {
    for (const step of steps) {
      interrupted.throwIfAborted();
      const outcome = await performStep(step, { door: this.door, interrupted, emit: this.emit });
      if (outcome === 'end') break;
      if (outcome !== 'next') return outcome;
    }
    return 'finished';
  }

  private stepsNow(steps: readonly Step[]): readonly Step[] {
    return steps.filter(({ when }) => when === undefined || this.fits(when));
  }

  private fits({ epoch, reminder, continuation, member, told }: When): boolean {
    const { memory, begun } = this;
    return (
      (epoch === undefined || [epoch].flat().includes(begun.epoch)) &&
      (reminder === undefined || reminder === memory.reminder) &&
      (continuation === undefined || continuation === memory.continuation) &&
      (member === undefined || [member].flat().includes(memory.member)) &&
      (told === undefined || memory.told.includes(told))
    );
  }
}

function describeMistakes(mistakes: readonly ScriptMistake[]): string {
  return cutText(
    ['The script does not hold:', ...mistakes.map(({ line, message }) => `line ${line}: ${message}`)].join('\n'),
  );
}
