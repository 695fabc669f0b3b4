import type { Writable } from 'node:stream';
import type { Reply } from './app-server-messages.js';

/** Questions to `codex app-server` and their replies, which come in any order among other lines. */
export class JsonRpcPipe<Outcome> {
  private readonly waiting = new Map<number, (reply: Reply) => Outcome>();
  private asked = 0;
  private over = false;

  constructor(private readonly stdin: Writable) {}

  /** `heard` is called once: with the reply, or that it was lost. What it answers goes to whoever delivered the reply. */
  ask(method: string, params: object, heard: (reply: Reply) => Outcome): void {
    if (this.over) return void heard(lost);
    this.asked += 1;
    this.waiting.set(this.asked, heard);
    this.write({ id: this.asked, method, params });
  }

  tell(method: string): void {
    this.write({ method });
  }

  answer(id: string | number, result: object | undefined): void {
    const unknown = { error: { code: -32_601, message: 'This client answers no such question.' } };
    this.write({ id, ...(result === undefined ? unknown : { result }) });
  }

  deliver(id: number, reply: Reply): Outcome | undefined {
    const heard = this.waiting.get(id);
    this.waiting.delete(id);
    return heard?.(reply);
  }

  end(): void {
    this.over = true;
    for (const heard of this.waiting.values()) heard(lost);
    this.waiting.clear();
  }

  private write(message: object): void {
    this.stdin.write(`${JSON.stringify(message)}\n`);
  }
}

const lost: Reply = { ok: false, code: 0, lost: true };
