import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { anthropicMessages } from './anthropic-messages.js';
import { EventStream } from './event-stream.js';
import { Gates } from './gates.js';
import type { ModelApi } from './model-api.js';
import { openaiResponses } from './openai-responses.js';
import { type AnswerTurn, markIn, Script, type ScriptInput, type Turn } from './script.js';

/** One request that a client made. */
export interface ModelRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Parsed JSON; undefined where there was none. */
  readonly body: unknown;
  readonly text: string;
  /** The script that its prompt named, and which of the sessions of that script it was, from 0. */
  readonly script?: string;
  readonly session?: number;
  /** The client left before the answer was whole. */
  aborted: boolean;
}

/** Routes that answer with a stream. */
const apis: ReadonlyMap<string, ModelApi> = new Map([
  ['/v1/messages', anthropicMessages],
  ['/v1/responses', openaiResponses],
]);

/**
 * Models without a model: the Anthropic Messages and the OpenAI Responses API on loopback, for real command line agents that run
 * offline. A prompt names its script by `scriptMark`; each session plays the script's turns, one per request. Requests that name
 * no script, and those of an agent's helpers, get a short text.
 */
export class ModelServer {
  readonly requests: ModelRequest[] = [];
  readonly gates = new Gates();
  private readonly scripts = new Map<string, Script>();
  private readonly sessions = new Map<string, string[]>();
  private readonly played = new Map<string, number>();
  private readonly server = createServer((request, response) => {
    this.answer(request, response).catch((error: unknown) => {
      this.faults.push(error);
      response.destroy();
    });
  });
  /** What went wrong in here; a test that fails may look. */
  readonly faults: unknown[] = [];
  private answered = 0;

  private constructor() {}

  static async start(): Promise<ModelServer> {
    const model = new ModelServer();
    model.server.requestTimeout = 0;
    model.server.listen(0, '127.0.0.1');
    await once(model.server, 'listening');
    return model;
  }

  /** `http://127.0.0.1:<port>`; OpenAI's clients want `/v1` behind it. */
  get url(): string {
    const address = this.server.address();
    if (address === null || typeof address === 'string') throw new Error('the model server does not listen');
    return `http://127.0.0.1:${address.port}`;
  }

  /** What is played for prompts that carry this script's mark. */
  script(name: string, script: ScriptInput): void {
    this.scripts.set(name, Script.parse(script));
  }

  /** Requests of agents that played this script, in order. */
  of(name: string): readonly ModelRequest[] {
    return this.requests.filter(({ script }) => script === name);
  }

  async close(): Promise<void> {
    this.server.close();
    this.server.closeAllConnections();
    if (this.server.listening) await once(this.server, 'close');
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const path = (request.url ?? '/').split('?')[0] ?? '/';
    const asked = { method: request.method ?? 'GET', path, headers: request.headers, body: parsed(body), text: body };
    const api = request.method === 'POST' ? apis.get(path) : undefined;
    if (api === undefined) {
      this.requests.push({ ...asked, aborted: false });
      return answerPlain(asked.method, path, response);
    }
    const played = this.choose(api, asked);
    const entry: ModelRequest = { ...asked, ...played.of, aborted: false };
    this.requests.push(entry);
    const gone = once(response, 'close').then(() => {
      entry.aborted = !response.writableFinished;
    });
    await this.play(api, played.turn, asked.body, response, gone);
  }

  /** The next turn of the session that asks. */
  private choose(
    api: ModelApi,
    asked: Pick<ModelRequest, 'body' | 'headers' | 'text'>,
  ): { readonly turn: Turn; readonly of: { readonly script?: string; readonly session?: number } } {
    const name = markIn(asked.text);
    const script = name === undefined ? undefined : this.scripts.get(name);
    if (name === undefined || script === undefined || !api.isAgent(asked.body)) return { turn: shortAnswer, of: {} };
    const id = api.sessionOf(asked.body, asked.headers) ?? 'the only one';
    const known = this.sessions.get(name) ?? [];
    this.sessions.set(name, known);
    if (!known.includes(id)) known.push(id);
    const session = known.indexOf(id);
    const key = `${name}/${id}`;
    const number = this.played.get(key) ?? 0;
    this.played.set(key, number + 1);
    const turns = script.sessions[session] ?? script.sessions.at(-1) ?? [];
    return { turn: turns[number] ?? script.afterwards, of: { script: name, session } };
  }

  private async play(
    api: ModelApi,
    turn: Turn,
    body: unknown,
    response: ServerResponse,
    gone: Promise<unknown>,
  ): Promise<void> {
    this.answered += 1;
    const id = String(this.answered);
    if (turn.kind === 'error') {
      const retry = turn.retry_after === undefined ? {} : { 'retry-after': String(turn.retry_after) };
      response.writeHead(turn.status, { 'content-type': 'application/json', ...retry, ...turn.headers });
      response.end(JSON.stringify(turn.body ?? api.errorBody(turn.status)));
      return;
    }
    if (turn.kind === 'cut') {
      const cut = new EventStream(response);
      await cut.send(api.render({ ...shortAnswer, text: turn.text }, id, body).first);
      return cut.breakOff();
    }
    await this.gates.wait(turn.before, gone);
    if (response.destroyed) return;
    const { first, second } = api.render(turn, id, body);
    const stream = new EventStream(response);
    await stream.send(first);
    await this.gates.wait(turn.midway, gone);
    await stream.send(second);
    stream.end();
  }
}

const shortAnswer: AnswerTurn = {
  ...{ kind: 'answer', text: 'Fine.', tools: [] },
  ...{ input_tokens: 1, cached_tokens: 0, output_tokens: 1 },
};

/** What clients ask besides: whether somebody is there, how long a prompt is, which models there are. */
function answerPlain(method: string, path: string, response: ServerResponse): void {
  const bodies: ReadonlyMap<string, object> = new Map([
    ['POST /v1/messages/count_tokens', { input_tokens: 100 }],
    ['GET /v1/models', { object: 'list', data: [], models: [] }],
  ]);
  const body = method === 'HEAD' ? {} : bodies.get(`${method} ${path}`);
  response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' });
  response.end(method === 'HEAD' ? undefined : JSON.stringify(body ?? { error: { message: 'not found' } }));
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
