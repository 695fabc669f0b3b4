import { z } from 'zod';
import { limits } from '#contracts';
import type { GuardedTree, TreeEnd } from '../../process/guarded-tree.js';
import { StreamTail } from '../bounded-lines.js';
import type { ProviderEvent, ProviderFailure } from '../events.js';
import type { Delivery, ProviderSession, SessionMessage, SessionRequest } from '../port.js';
import { sessionEvents } from '../session-events.js';
import { SessionGate } from '../session-gate.js';
import { scrubbedEvent, secretsOf, withoutSecrets } from '../without-secrets.js';
import {
  ErrorNote,
  ItemNote,
  parseMessage,
  type RateLimits,
  RateLimitsNote,
  type Reply,
  ThreadReply,
  type TurnError,
  TurnNote,
  TurnReply,
  UsageNote,
} from './app-server-messages.js';
import { AppServerTurns } from './app-server-turns.js';
import { answerTo } from './approvals.js';
import { failureOfTurn } from './codex-failure.js';
import { eventOfCompleted, eventOfStarted } from './codex-items.js';
import { doorSettings } from './codex-settings.js';
import { JsonRpcPipe } from './json-rpc-pipe.js';

type Heard = ProviderEvent | readonly ProviderEvent[] | undefined;
type Answer = Exclude<Delivery, 'queued'>;

const UserMessage = z.looseObject({ type: z.literal('userMessage'), clientId: z.string() });

/** Notifications that we do not read: a flood of pieces. */
const unread = [
  'item/agentMessage/delta',
  'item/commandExecution/outputDelta',
  'item/fileChange/outputDelta',
  'item/fileChange/patchUpdated',
  'item/plan/delta',
  'item/reasoning/summaryTextDelta',
  'item/reasoning/textDelta',
  'turn/diff/updated',
];

/** A session over `codex app-server`: one thread, turns one after the other, steered and interrupted while they run. */
export class AppServerSession implements ProviderSession {
  readonly events: AsyncIterable<ProviderEvent>;
  private readonly stderr: StreamTail;
  private readonly pipe: JsonRpcPipe<Heard>;
  private readonly turns = new AppServerTurns();
  private readonly gate = new SessionGate('Codex');
  private model: string | undefined;
  private rateLimits: RateLimits | undefined;
  private retried: TurnError['codexErrorInfo'];
  private failed = false;

  constructor(
    readonly tree: GuardedTree,
    private readonly request: SessionRequest,
  ) {
    this.stderr = new StreamTail(tree.stderr, limits.providerStderrBytes);
    this.pipe = new JsonRpcPipe(tree.stdin);
    this.events = sessionEvents(
      tree,
      (line) =>
        [this.read(line) ?? []].flat().flatMap((event) => this.gate.expand(scrubbedEvent(event, secretsOf(request)))),
      { explain: () => this.gate.whyNotBegun() },
    );
    void tree.exited.then(() => {
      this.pipe.end();
      this.turns.end();
    });
    this.open();
  }

  get ref(): string | undefined {
    return this.gate.ref;
  }

  async say({ text }: SessionMessage): Promise<Answer> {
    if (this.gate.threadId === undefined || this.turns.isRunning) return 'not_running';
    const { promise, resolve } = Promise.withResolvers<Answer>();
    this.beginTurn(text, (reply) => {
      resolve(answerOf(reply));
      return undefined;
    });
    return promise;
  }

  async steer(text: string): Promise<Delivery> {
    const expectedTurnId = await this.turns.current();
    if (expectedTurnId === undefined) return 'not_running';
    const message = this.turns.expect();
    const answer = await this.ask('turn/steer', {
      threadId: this.gate.threadId,
      expectedTurnId,
      clientUserMessageId: message.name,
      input: textInput(text),
    });
    if (answer === 'delivered') return (await message.taken) ? 'delivered' : 'uncertain';
    message.forget();
    return answer;
  }

  async interrupt(): Promise<Answer> {
    const turnId = await this.turns.current();
    if (turnId === undefined) return 'not_running';
    return this.ask('turn/interrupt', { threadId: this.gate.threadId, turnId });
  }

  stop(options?: { readonly graceMs?: number }): Promise<TreeEnd> {
    return this.tree.stop(options);
  }

  diagnostics(): string {
    return withoutSecrets(this.stderr.text, secretsOf(this.request));
  }

  private ask(method: string, params: object): Promise<Answer> {
    const { promise, resolve } = Promise.withResolvers<Answer>();
    this.pipe.ask(method, params, (reply) => {
      resolve(answerOf(reply));
      return undefined;
    });
    return promise;
  }

  private open(): void {
    const clientInfo = { name: 'longshore', title: 'Longshore', version: '1' };
    const capabilities = { experimentalApi: false, requestAttestation: false, optOutNotificationMethods: unread };
    this.pipe.ask('initialize', { clientInfo, capabilities }, (reply) => {
      if (!reply.ok) return reply.lost ? undefined : failed(tooOld);
      this.pipe.tell('initialized');
      this.openThread();
      return undefined;
    });
  }

  /** Without a working directory or sandbox of its own: Codex would then take the repository for trusted, and run what it holds. */
  private openThread(): void {
    const { resume, instructions, memberDoor, model } = this.request;
    const thread = {
      ...(model === undefined ? {} : { model }),
      developerInstructions: instructions,
      config: { 'mcp_servers.longshore': doorSettings(memberDoor) },
    };
    const [method, params] =
      resume === undefined
        ? (['thread/start', thread] as const)
        : (['thread/resume', { ...thread, threadId: resume.ref, excludeTurns: true }] as const);
    this.pipe.ask(method, params, (reply) => {
      if (!reply.ok) return reply.lost ? undefined : failed(resume === undefined ? notTaken : sessionGone);
      const taken = ThreadReply.safeParse(reply.result).data;
      if (taken === undefined) return failed(tooOld);
      this.gate.takeThread(taken.thread.id);
      this.model = taken.model;
      this.beginTurn(this.request.input, (begun) => (begun.ok || begun.lost ? undefined : failed(promptRefused)));
      return undefined;
    });
  }

  private beginTurn(text: string, heard: (reply: Reply) => Heard): void {
    this.turns.begin();
    this.failed = false;
    this.retried = undefined;
    this.pipe.ask('turn/start', { threadId: this.gate.threadId, input: textInput(text) }, (reply) => {
      const turn = reply.ok ? TurnReply.safeParse(reply.result).data?.turn : undefined;
      if (turn === undefined) this.turns.end();
      else this.turns.name(turn.id);
      return heard(reply);
    });
  }

  private read(line: string): Heard {
    const message = parseMessage(line);
    switch (message?.kind) {
      case 'reply':
        return this.pipe.deliver(message.id, message.reply);
      case 'request':
        this.pipe.answer(message.id, answerTo(message.method));
        return undefined;
      case 'notification':
        return this.hear(message.method, message.params);
      case undefined:
        return undefined;
    }
  }

  private hear(method: string, params: unknown): Heard {
    switch (method) {
      case 'item/started':
        return this.hearItem(params, eventOfStarted);
      case 'item/completed':
        return this.hearItem(params, eventOfCompleted);
      case 'thread/tokenUsage/updated':
        return this.usageOf(params);
      case 'account/rateLimits/updated':
        this.rateLimits = RateLimitsNote.safeParse(params).data?.rateLimits ?? this.rateLimits;
        return undefined;
      case 'error':
        return this.hearError(params);
      case 'turn/completed':
        return this.hearTurnEnd(params);
      default:
        return undefined;
    }
  }

  private hearItem(params: unknown, eventOf: (item: unknown) => Heard): Heard {
    const item = ItemNote.safeParse(params).data?.item;
    if (item === undefined) return undefined;
    const user = UserMessage.safeParse(item).data;
    if (user !== undefined) this.turns.takeIn(user.clientId);
    if (item.type === 'userMessage') return undefined;
    // thinking is no event, but the model answers
    return eventOf(item) ?? this.gate.open();
  }

  private usageOf(params: unknown): Heard {
    const note = UsageNote.safeParse(params).data;
    // a thread that goes on begins with what its last turn used
    if (note === undefined || !this.turns.isCurrent(note.turnId)) return undefined;
    const { last } = note.tokenUsage;
    return {
      type: 'usage',
      requests: 1,
      input_tokens: last.inputTokens,
      output_tokens: last.outputTokens,
      cache_read_tokens: last.cachedInputTokens,
      ...(this.model === undefined ? {} : { model: this.model.slice(0, limits.modelChars) }),
    };
  }

  private hearError(params: unknown): Heard {
    const note = ErrorNote.safeParse(params).data;
    if (note === undefined) return undefined;
    if (!note.willRetry) return this.failTurn(note.error);
    this.retried = note.error.codexErrorInfo;
    return undefined;
  }

  private failTurn(error: TurnError | null | undefined): readonly ProviderEvent[] {
    if (this.failed) return [];
    this.failed = true;
    return [failed(failureOfTurn(error, { rateLimits: this.rateLimits, retried: this.retried, now: Date.now() }))];
  }

  private hearTurnEnd(params: unknown): Heard {
    const note = TurnNote.safeParse(params).data;
    if (note === undefined || note.threadId !== this.gate.threadId) return undefined;
    this.turns.end();
    const { status, error } = note.turn;
    if (status === 'completed') return { type: 'turn_end', how: 'finished' };
    if (status === 'interrupted') return { type: 'turn_end', how: 'interrupted' };
    return [...this.failTurn(error), { type: 'turn_end', how: 'failed' }];
  }
}

const textInput = (text: string) => [{ type: 'text', text, text_elements: [] }];

function answerOf(reply: Reply): Answer {
  if (reply.ok) return 'delivered';
  return reply.lost ? 'uncertain' : 'not_running';
}

const failed = (failure: ProviderFailure): ProviderEvent => ({ type: 'failed', failure });

const tooOld: ProviderFailure = {
  class: 'environment',
  detail: 'This version of Codex does not know what it is asked to do.',
};
const notTaken: ProviderFailure = { class: 'environment', detail: 'Codex takes no session on this machine.' };
const promptRefused: ProviderFailure = { class: 'invalid', detail: 'Codex refuses the prompt.' };
const sessionGone: ProviderFailure = { class: 'invalid', detail: 'The session to go on with is not there any more.' };
