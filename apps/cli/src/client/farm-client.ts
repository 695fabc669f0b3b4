import { createReadStream, createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Agent, fetch, type Headers } from 'undici';
import { z } from 'zod';
import { type Contract, type CredentialFile, FarmError, headers, OutputHead, objectPaths } from '#contracts';
import { RemoteError } from '../output/failure.js';
import type { Bearer } from './bearer.js';
import { PersonToken } from './person-token.js';
import { noAnswer, refusal, type SendJson, sendJson } from './send-json.js';

interface CallOptions {
  /** The person means exactly this call (A6.1). */
  readonly confirm?: boolean;
  /** Makes a repetition the same act (S3.3). */
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal;
}

const Envelope = z.looseObject({ result: z.unknown() });

type Asked<O extends z.ZodType> = Contract<string, z.ZodType, O>;

/** The farm as a person at the command line reaches it. */
export interface FarmClient {
  readonly url: string;
  /** Errors: RemoteError for what the farm refuses, FarmError unavailable when none answers. */
  call<O extends z.ZodType>(contract: Asked<O>, input: unknown, options?: CallOptions): Promise<z.output<O>>;
  /** What this person may call, with schemas. */
  listing(signal?: AbortSignal): Promise<unknown>;
  /** Sends a bundle, named by the SHA-256 of its bytes (D19). */
  putSource(sha256: string, file: string, signal?: AbortSignal): Promise<void>;
  /** Fetches a Task's branch as a bundle into a file. */
  getResult(taskId: string, to: string, signal?: AbortSignal): Promise<void>;
  /** What a Task changed, as a mailbox for `git am`. */
  getPatch(taskId: string, to: NodeJS.WritableStream, signal?: AbortSignal): Promise<void>;
  /** Bytes of what a command of a Task says, from a place on or from the beginning, and what is to be known of them. */
  getOutput(taskId: string, commandId: string, from: string | undefined, signal?: AbortSignal): Promise<OutputPart>;
  close(): Promise<void>;
}

interface OutputPart {
  readonly head: OutputHead;
  readonly body: Readable;
}

export function personClient(credential: CredentialFile, credentialFile: string): FarmClient {
  return farmClient(credential.url, (send) => new PersonToken(credential, credentialFile, send));
}

export function farmClient(url: string, bearerOf: (send: SendJson) => Bearer): FarmClient {
  // Long polls and large bundles: what ends a call is its signal, or the farm.
  const dispatcher = new Agent({ headersTimeout: 120_000, bodyTimeout: 300_000, connect: { timeout: 10_000 } });
  const send: SendJson = sendJson(dispatcher);
  const token = bearerOf(send);

  /** A token that a restored or reset farm no longer knows is asked for again, once. */
  async function withToken<T>(use: (bearer: Readonly<Record<string, string>>) => Promise<T>): Promise<T> {
    try {
      return await use({ authorization: `Bearer ${await token.get()}` });
    } catch (error) {
      if (!(error instanceof RemoteError) || error.problem.code !== 'unauthenticated') throw error;
      return await use({ authorization: `Bearer ${await token.renew()}` });
    }
  }

  async function open(road: string, signal?: AbortSignal): Promise<{ body: Readable; head: Headers }> {
    return await withToken(async (bearer) => {
      const response = await fetch(road, {
        headers: bearer,
        redirect: 'error',
        dispatcher,
        ...(signal && { signal }),
      }).catch((error: unknown) => {
        throw noAnswer(road, error);
      });
      if (!response.ok || response.body === null) throw refusal(response.status, await response.text());
      return { body: Readable.fromWeb(response.body), head: response.headers };
    });
  }

  async function download(
    path: string,
    taskId: string,
    take: (body: Readable) => Promise<void>,
    signal?: AbortSignal,
  ): Promise<void> {
    await take((await open(`${url}${path.replace(':task', taskId)}`, signal)).body);
  }

  return {
    url,
    async call(contract, input, { confirm, idempotencyKey, signal } = {}) {
      const answer = await withToken((bearer) =>
        send('POST', `${url}/v1/operations/${contract.name}`, {
          body: { input, ...(confirm === true && { confirm }) },
          headers: { ...bearer, ...(idempotencyKey !== undefined && { [headers.idempotencyKey]: idempotencyKey }) },
          signal,
        }),
      );
      return answerOf(contract, Envelope.parse(answer).result);
    },
    listing: (signal) => withToken((bearer) => send('GET', `${url}/v1/operations`, { headers: bearer, signal })),
    async putSource(sha256, file, signal) {
      const { size } = await stat(file);
      const road = `${url}${objectPaths.source.replace(':sha256', sha256)}`;
      await withToken(async (bearer) => {
        const response = await fetch(road, {
          method: 'PUT',
          headers: { ...bearer, 'content-type': 'application/octet-stream', 'content-length': String(size) },
          body: createReadStream(file),
          duplex: 'half',
          redirect: 'error',
          dispatcher,
          ...(signal && { signal }),
        }).catch((error: unknown) => {
          throw noAnswer(road, error);
        });
        const text = await response.text();
        if (!response.ok) throw refusal(response.status, text);
      });
    },
    getResult: (taskId, to, signal) =>
      download(objectPaths.result, taskId, (body) => pipeline(body, createWriteStream(to, { mode: 0o600 })), signal),
    getPatch: (taskId, to, signal) =>
      download(objectPaths.patch, taskId, (body) => pipeline(body, to, { end: false }), signal),
    async getOutput(taskId, commandId, from, signal) {
      const road = `${url}${objectPaths.runOutput.replace(':task', encodeURIComponent(taskId)).replace(':command', encodeURIComponent(commandId))}`;
      const { body, head } = await open(from === undefined ? road : `${road}?from=${from}`, signal);
      return { body, head: headOf(head.get(headers.output)) };
    },
    close: () => dispatcher.destroy(),
  };
}

function headOf(header: string | null): OutputHead {
  try {
    return OutputHead.parse(JSON.parse(header ?? ''));
  } catch (error) {
    throw new FarmError('invalid_output', 'The farm sent an output without a word on it.', { cause: error });
  }
}

function answerOf<O extends z.ZodType>(contract: Asked<O>, result: unknown): z.output<O> {
  const parsed = contract.output.safeParse(result);
  if (parsed.success) return parsed.data;
  throw new FarmError('invalid_output', `The farm's answer to ${contract.name} is not one that this version knows.`, {
    hint: 'The farm and this command have different versions: use the same on both sides.',
  });
}
