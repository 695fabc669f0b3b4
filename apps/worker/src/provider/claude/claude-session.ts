import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { limits } from '#contracts';
import type { GuardedTree, TreeEnd } from '../../process/guarded-tree.js';
import { StreamTail } from '../bounded-lines.js';
import type { ProviderEvent } from '../events.js';
import type { Delivery, ProviderSession, SessionMessage, SessionRequest } from '../port.js';
import { sessionEvents } from '../session-events.js';
import { secretsOf, withoutSecrets } from '../without-secrets.js';
import { failureOfStderr } from './claude-failure.js';
import { ClaudeReader, type ClaudeSign } from './claude-reader.js';

type Answer = 'delivered' | 'not_running' | 'uncertain';

/** One Claude Code process that takes turns on its stdin. */
export class ClaudeSession implements ProviderSession {
  readonly events: AsyncIterable<ProviderEvent>;
  private sessionRef: string | undefined;
  private readonly stderr: StreamTail;
  private readonly reader: ClaudeReader;
  private readonly scrub: (text: string) => string;
  /** Messages that were sent and not yet taken up. */
  private readonly messages = new Map<string, (answer: Answer) => void>();
  private readonly controls = new Map<string, (answer: Answer) => void>();
  private turnRuns = true;
  private interrupting = false;
  private over = false;

  constructor(
    readonly tree: GuardedTree,
    request: SessionRequest,
    private readonly mcpFile: string,
  ) {
    this.scrub = (text) => withoutSecrets(text, secretsOf(request));
    this.stderr = new StreamTail(tree.stderr, limits.providerStderrBytes);
    this.reader = new ClaudeReader({
      resumed: request.resume !== undefined,
      scrub: this.scrub,
      interrupted: () => this.interrupting,
      goesOn: () => this.messages.size > 0,
      now: Date.now,
    });
    this.events = sessionEvents(tree, (line) => this.read(line), {
      rest: () => this.reader.rest(),
      explain: () => failureOfStderr(this.stderr.text),
    });
    void tree.exited.then(() => this.end());
    this.control({ subtype: 'initialize', appendSystemPrompt: request.instructions });
    this.write({ type: 'user', message: { role: 'user', content: request.input } });
  }

  get ref(): string | undefined {
    return this.sessionRef;
  }

  say(message: SessionMessage): Promise<Answer> {
    if (this.over || this.turnRuns) return Promise.resolve('not_running');
    this.turnRuns = true;
    return this.sendMessage(message.text);
  }

  /** Claude Code takes it up at its next step, after the tool that runs, and says when it has. */
  steer(text: string): Promise<Delivery> {
    if (this.over || !this.turnRuns) return Promise.resolve('not_running');
    return this.sendMessage(text);
  }

  interrupt(): Promise<Answer> {
    if (this.over || !this.turnRuns) return Promise.resolve('not_running');
    this.interrupting = true;
    const { promise, resolve } = Promise.withResolvers<Answer>();
    this.controls.set(this.control({ subtype: 'interrupt' }), resolve);
    return promise;
  }

  stop(options?: { readonly graceMs?: number }): Promise<TreeEnd> {
    return this.tree.stop(options);
  }

  diagnostics(): string {
    return this.scrub(this.stderr.text);
  }

  private sendMessage(text: string): Promise<Answer> {
    const uuid = randomUUID();
    const { promise, resolve } = Promise.withResolvers<Answer>();
    this.messages.set(uuid, resolve);
    this.write({ type: 'user', uuid, message: { role: 'user', content: text } });
    return promise;
  }

  private control(request: { readonly subtype: string; readonly [key: string]: unknown }): string {
    const request_id = randomUUID();
    this.write({ type: 'control_request', request_id, request });
    return request_id;
  }

  private write(line: object): void {
    this.tree.stdin.write(`${JSON.stringify(line)}\n`);
  }

  private read(line: string): readonly ProviderEvent[] {
    const { events, sign } = this.reader.read(line);
    if (sign !== undefined) this.heed(sign);
    return events;
  }

  private heed(sign: ClaudeSign): void {
    switch (sign.type) {
      case 'begun':
        this.sessionRef = sign.ref;
        this.turnRuns = true;
        void rm(this.mcpFile, { force: true });
        return;
      case 'taken':
        this.messages.get(sign.uuid)?.('delivered');
        this.messages.delete(sign.uuid);
        return;
      case 'answered':
        this.controls.get(sign.request)?.(sign.ok ? 'delivered' : 'not_running');
        this.controls.delete(sign.request);
        return;
      case 'asks':
        this.write({
          type: 'control_response',
          response: { subtype: 'error', request_id: sign.request, error: 'Nobody is there to answer.' },
        });
        return;
      case 'turn_over':
        this.interrupting = false;
        // a message that came too late for this turn begins the next by itself
        this.turnRuns = this.messages.size > 0;
        return;
    }
  }

  private async end(): Promise<void> {
    this.over = true;
    for (const answer of [...this.messages.values(), ...this.controls.values()]) answer('uncertain');
    this.messages.clear();
    this.controls.clear();
    await rm(this.mcpFile, { force: true });
  }
}
