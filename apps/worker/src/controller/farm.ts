import type { Dispatcher } from 'undici';
import { z } from 'zod';
import { type Contract, FarmError, headers } from '#contracts';
import { type Answer, type Ask, ask, jsonOf } from './ask.js';
import { Connections } from './connections.js';

/** Where the bearer comes from. `renew` is told which one was refused, so that many callers renew once. */
export interface TokenSource {
  token(): Promise<string>;
  renew(refused: string): Promise<string>;
}

export interface CallOptions {
  /** The job's own token, beside the worker's (D17). */
  readonly jobToken?: string;
  /** A repeated call under this key is answered again and not done again. */
  readonly callId?: string;
  readonly dispatcher?: Dispatcher;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface RoadOptions extends CallOptions {
  readonly range?: string;
}

const Envelope = z.looseObject({ result: z.unknown() });

const callTimeoutMs = 15_000;

/** The controller as this worker sees it: operations and the roads for bytes. Asks once; who needs an answer repeats. */
export class Farm {
  readonly connections = new Connections();

  constructor(
    readonly url: string,
    private readonly tokens: TokenSource,
  ) {}

  /** @throws FarmError the operation's codes · `unavailable` · `unauthenticated` */
  async call<Input extends z.ZodType, Output extends z.ZodType>(
    contract: Contract<string, Input, Output>,
    input: z.input<Input>,
    options: CallOptions = {},
  ): Promise<z.output<Output>> {
    const value = await this.post(contract.name, input, options);
    const parsed = contract.output.safeParse(value);
    if (!parsed.success)
      throw new FarmError('invalid_output', `The answer to ${contract.name} does not fit its contract.`);
    return parsed.data;
  }

  /** An operation by name, its answer as it came. */
  async post(name: string, input: unknown, options: CallOptions = {}): Promise<unknown> {
    const answer = await this.authorised({
      method: 'POST',
      url: this.at(`/v1/operations/${name}`),
      dispatcher: options.dispatcher ?? this.connections.calls,
      headers: { 'content-type': 'application/json', ...beside(options) },
      body: JSON.stringify({ input }),
      timeoutMs: options.timeoutMs ?? callTimeoutMs,
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    const reply = Envelope.safeParse(await jsonOf(answer));
    if (reply.success) return reply.data.result;
    throw new FarmError('invalid_output', `The answer to ${name} has no result.`);
  }

  get(path: string, options: RoadOptions): Promise<Answer> {
    return this.authorised({
      method: 'GET',
      url: this.at(path),
      dispatcher: options.dispatcher ?? this.connections.bytes,
      headers: { ...beside(options), ...(options.range === undefined ? {} : { range: options.range }) },
      timeoutMs: options.timeoutMs ?? 60_000,
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
  }

  /** `body` is made anew for each try: a stream can be sent once only. */
  async put(path: string, body: () => NonNullable<Ask['body']>, size: number, options: RoadOptions): Promise<void> {
    const answer = await this.authorised({
      method: 'PUT',
      url: this.at(path),
      dispatcher: options.dispatcher ?? this.connections.bytes,
      headers: { 'content-type': 'application/octet-stream', 'content-length': String(size), ...beside(options) },
      body,
      timeoutMs: options.timeoutMs ?? 120_000,
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    await answer.body.dump();
  }

  close(): Promise<void> {
    return this.connections.close();
  }

  private at(path: string): string {
    return new URL(path, this.url).href;
  }

  private async authorised(
    wanted: Omit<Ask, 'body'> & { readonly body?: Ask['body'] | (() => Ask['body']) },
  ): Promise<Answer> {
    const { body, ...rest } = wanted;
    const once = (token: string) => {
      const content = typeof body === 'function' ? body() : body;
      return ask({
        ...rest,
        headers: { ...rest.headers, authorization: `Bearer ${token}` },
        ...(content === undefined ? {} : { body: content }),
      });
    };
    const token = await this.tokens.token();
    try {
      return await once(token);
    } catch (error) {
      if (!(error instanceof FarmError) || error.code !== 'unauthenticated') throw error;
      return once(await this.tokens.renew(token));
    }
  }
}

function beside(options: CallOptions): Record<string, string> {
  return {
    ...(options.jobToken === undefined ? {} : { [headers.jobToken]: options.jobToken }),
    ...(options.callId === undefined ? {} : { [headers.idempotencyKey]: options.callId }),
  };
}

/** Fills `:job` and the like of a road's path. */
export function roadTo(path: string, parameters: Readonly<Record<string, string | number>>): string {
  return path.replace(/:([a-z]+)/g, (_, name: string) => encodeURIComponent(String(parameters[name] ?? '')));
}
