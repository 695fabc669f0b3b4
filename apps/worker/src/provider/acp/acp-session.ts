import {
  type ClientConnection,
  client,
  type McpServer,
  methods,
  type NewSessionRequest,
  type NewSessionResponse,
  PROTOCOL_VERSION,
  type PromptRequest,
  type PromptResponse,
  type SessionUpdate,
} from '@agentclientprotocol/sdk';
import { z } from 'zod';
import { limits } from '#contracts';
import type { GuardedTree, TreeEnd } from '../../process/guarded-tree.js';
import { StreamTail } from '../bounded-lines.js';
import { EventQueue } from '../event-queue.js';
import type { ProviderEvent, ProviderFailure } from '../events.js';
import type { Delivery, ProviderSession, SessionMessage, SessionRequest } from '../port.js';
import { SessionGate } from '../session-gate.js';
import { scrubbedEvent, secretsOf, withoutSecrets } from '../without-secrets.js';
import { failureOfRequest } from './acp-failure.js';
import { AcpUpdates } from './acp-updates.js';
import { agentStream } from './agent-stream.js';
import { answerPermission } from './permissions.js';

type Answer = Exclude<Delivery, 'queued'>;

/** Beside the protocol: tokens of the turn, where an agent tells them. */
const TurnUsage = z.looseObject({
  usage: z.looseObject({
    inputTokens: z.int().min(0),
    outputTokens: z.int().min(0),
    cachedReadTokens: z.int().min(0).nullish(),
  }),
});

/**
 * A session with any agent that speaks the Agent Client Protocol. The protocol knows no steering: what is said into a turn waits
 * for its end and begins the next, before anybody hears that the turn is over.
 */
export class AcpSession implements ProviderSession {
  private readonly queue = new EventQueue(limits.providerEvents);
  readonly events: AsyncIterable<ProviderEvent> = this.queue;
  private readonly stderr: StreamTail;
  private readonly gate = new SessionGate('The agent');
  private readonly updates = new AcpUpdates();
  private readonly connection: ClientConnection;
  private pushed: Promise<void> = Promise.resolve();
  private readonly waiting: { readonly text: string; readonly heard: (answer: Answer) => void }[] = [];
  private turnRuns = true;
  /** Updates of a session that is loaded tell again what it was. */
  private listening = false;
  private explained = false;
  private over = false;

  constructor(
    readonly tree: GuardedTree,
    private readonly request: SessionRequest,
    private readonly door: McpServer,
  ) {
    this.stderr = new StreamTail(tree.stderr, limits.providerStderrBytes);
    const read = Promise.withResolvers<void>();
    this.connection = client({ name: 'longshore' })
      .onRequest(methods.client.session.requestPermission, ({ params }) => answerPermission(params))
      .onNotification(methods.client.session.update, ({ params }) => {
        if (params.sessionId === this.gate.threadId && this.listening) this.hear(params.update);
      })
      .onNotification('*', () => undefined)
      .connect(agentStream(tree.stdin, tree.stdout, { room: () => this.pushed, ended: read.resolve }));
    void this.follow(read.promise);
    void this.begin();
  }

  get ref(): string | undefined {
    return this.gate.ref;
  }

  async say({ text }: SessionMessage): Promise<Answer> {
    if (this.turnRuns || this.over || this.gate.threadId === undefined) return 'not_running';
    void this.prompt([text]);
    return 'delivered';
  }

  steer(text: string): Promise<Delivery> {
    if (!this.turnRuns || this.over) return Promise.resolve('not_running');
    const { promise, resolve } = Promise.withResolvers<Answer>();
    this.waiting.push({ text, heard: resolve });
    return promise;
  }

  async interrupt(): Promise<Answer> {
    const sessionId = this.gate.threadId;
    if (!this.turnRuns || this.over || sessionId === undefined) return 'not_running';
    await this.connection.agent.notify(methods.agent.session.cancel, { sessionId });
    return 'delivered';
  }

  stop(options?: { readonly graceMs?: number }): Promise<TreeEnd> {
    return this.tree.stop(options);
  }

  diagnostics(): string {
    return withoutSecrets(this.stderr.text, secretsOf(this.request));
  }

  private async begin(): Promise<void> {
    try {
      const failure = await this.open();
      if (failure !== undefined) return this.fail(failure);
    } catch (error) {
      // its process is gone: that says why
      if (!this.over && !this.connection.signal.aborted) this.fail(refusalOf(error));
      return;
    }
    this.listening = true;
    const { instructions, input, resume } = this.request;
    await this.prompt(resume === undefined ? [instructions, input] : [input]);
  }

  /** Answers why the agent is of no use here. */
  private async open(): Promise<ProviderFailure | undefined> {
    const { agent } = this.connection;
    const { agentCapabilities } = await agent.request(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientInfo: { name: 'longshore', title: 'Longshore', version: '1' },
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
    });
    const { workspace, resume, model } = this.request;
    const place: NewSessionRequest = { cwd: workspace, mcpServers: [this.door] };
    if (resume !== undefined) {
      if (agentCapabilities?.loadSession !== true) return sessionGone;
      await agent.request(methods.agent.session.load, { ...place, sessionId: resume.ref });
      this.gate.takeThread(resume.ref);
      return undefined;
    }
    const made = await agent.request(methods.agent.session.new, place);
    this.gate.takeThread(made.sessionId);
    return model === undefined ? undefined : this.chooseModel(made, model);
  }

  private async chooseModel(
    { sessionId, configOptions }: NewSessionResponse,
    model: string,
  ): Promise<ProviderFailure | undefined> {
    const choice = configOptions?.find(({ category, type }) => category === 'model' && type === 'select');
    if (choice === undefined) return noModel;
    await this.connection.agent.request(methods.agent.session.setConfigOption, {
      sessionId,
      configId: choice.id,
      value: model,
    });
    return undefined;
  }

  private async prompt(texts: readonly string[]): Promise<void> {
    this.turnRuns = true;
    const asked: PromptRequest = {
      sessionId: this.gate.threadId ?? '',
      prompt: texts.map((text) => ({ type: 'text', text })),
    };
    try {
      const answer = await this.connection.agent.request(methods.agent.session.prompt, asked);
      this.push(...this.updates.flush(), this.usageOf(answer));
      const said = answer.stopReason === 'cancelled' ? [] : this.waiting.splice(0);
      if (said.length === 0) return this.endTurn(turnEnds[answer.stopReason]);
      for (const { heard } of said) heard('delivered');
      await this.prompt(said.map(({ text }) => text));
    } catch (error) {
      if (this.over || this.connection.signal.aborted) return;
      this.push(...this.updates.flush());
      this.fail(failureOfRequest(error));
      this.endTurn('failed');
    }
  }

  private endTurn(how: 'finished' | 'interrupted' | 'failed'): void {
    this.turnRuns = false;
    for (const { heard } of this.waiting.splice(0)) heard('not_running');
    this.push({ type: 'turn_end', how });
  }

  private hear(update: SessionUpdate): void {
    const events = this.updates.read(update);
    const session = signs.has(update.sessionUpdate) ? this.gate.open() : undefined;
    this.push(...(session === undefined ? [] : [session]), ...events);
  }

  private usageOf(answer: PromptResponse): ProviderEvent {
    const usage = TurnUsage.safeParse(answer).data?.usage;
    const cost = this.updates.takeCost();
    return {
      type: 'usage',
      requests: 1,
      input_tokens: (usage?.inputTokens ?? 0) + (usage?.cachedReadTokens ?? 0),
      output_tokens: usage?.outputTokens ?? 0,
      ...(usage?.cachedReadTokens ? { cache_read_tokens: usage.cachedReadTokens } : {}),
      ...(cost === undefined ? {} : { cost_usd: cost }),
    };
  }

  private fail(failure: ProviderFailure): void {
    this.explained = true;
    this.push({ type: 'failed', failure });
  }

  private push(...events: readonly ProviderEvent[]): void {
    for (const event of events.flatMap((each) => this.gate.expand(scrubbedEvent(each, secretsOf(this.request))))) {
      this.pushed = this.queue.push(event);
    }
  }

  /** The end of the process is the end of the session; what it leaves behind may hold its pipes open for ever. */
  private async follow(read: Promise<void>): Promise<void> {
    let asked = false;
    this.tree.onState((state) => {
      asked ||= state === 'ending';
    });
    const exit = await this.tree.exited;
    const unasked = !asked;
    void this.tree.stop();
    await read;
    this.over = true;
    this.connection.close();
    for (const { heard } of this.waiting.splice(0)) heard('not_running');
    this.push(...this.updates.flush());
    if (unasked && !this.explained) {
      const how = exit.signal === null ? `with code ${exit.code}` : `by ${exit.signal}`;
      this.fail(this.gate.whyNotBegun() ?? { class: 'crash', detail: `The agent's process ended ${how}.` });
    }
    this.push({ type: 'exit', code: exit.code, signal: exit.signal });
    this.queue.close();
  }
}

/** Updates that show that the model answers. */
const signs: ReadonlySet<SessionUpdate['sessionUpdate']> = new Set<SessionUpdate['sessionUpdate']>([
  'agent_message_chunk',
  'agent_thought_chunk',
  'tool_call',
  'plan',
]);

const turnEnds = {
  end_turn: 'finished',
  max_tokens: 'finished',
  max_turn_requests: 'finished',
  refusal: 'failed',
  cancelled: 'interrupted',
} as const;

/** Before a session there is nothing that could have crashed. */
function refusalOf(error: unknown): ProviderFailure {
  const failure = failureOfRequest(error);
  return failure.class === 'crash' ? notTaken : failure;
}

const notTaken: ProviderFailure = { class: 'environment', detail: 'The agent takes no session on this machine.' };
const noModel: ProviderFailure = { class: 'invalid', detail: 'The agent lets nobody choose its model.' };
const sessionGone: ProviderFailure = { class: 'invalid', detail: 'The session to go on with is not there any more.' };
