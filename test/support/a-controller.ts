import { createPrivateKey, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll } from '@jest/globals';
import { type Logger, pino } from 'pino';
import { z } from 'zod';
import { Challenge, CredentialFile, EnrolReply, headers, identityPaths, Problem, TokenReply } from '#contracts';
import { readSettings } from '../../apps/controller/src/configuration/read-settings.js';
import type { Settings } from '../../apps/controller/src/configuration/settings.js';
import { type Controller, startController } from '../../apps/controller/src/controller.js';
import { aDatabase, type TestDatabase } from './database.js';
import { tempDir } from './temp-dir.js';

/** One answer of the HTTP door. */
export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly body: unknown;
  readonly headers: Headers;
}

interface CallOptions {
  readonly confirm?: boolean;
  readonly key?: string;
  readonly jobToken?: string;
}

/** A caller with a credential of its own. */
export interface TestCaller {
  readonly id: string;
  readonly token: string;
  /** The whole exchange. */
  ask(name: string, input: unknown, options?: CallOptions): Promise<Answer>;
  /** The result; throws the problem's code when it is refused. */
  call<Out>(contract: { name: string; output: z.ZodType<Out> }, input: unknown, options?: CallOptions): Promise<Out>;
}

export interface TestWorker extends TestCaller {
  readonly boot: string;
  readonly key: KeyObject;
  /** Asks for another token, perhaps for another boot or from another host. */
  renew(boot?: string, host?: string): Promise<Answer>;
  /** The same worker with another token. */
  with(token: string, boot: string): TestWorker;
}

export interface TestController {
  readonly url: string;
  readonly controller: Controller;
  readonly database: TestDatabase;
  readonly data: string;
  /** Every line that the controller logged. */
  readonly logged: readonly string[];
  readonly admin: TestCaller;
  person(token: string, id?: string): TestCaller;
  invite(invitation?: object): Promise<string>;
  enrol(ticket: string, options?: { key?: KeyObject; host?: string; url?: string }): Promise<Answer>;
  aWorker(invitation?: object, host?: string): Promise<TestWorker>;
  fetch(path: string, init?: RequestInit): Promise<Answer>;
  close(): Promise<void>;
}

/** Specs call faster than people do. */
const unlimited = { LONGSHORE_CALLS_PER_MINUTE: '0', LONGSHORE_SIGN_INS_PER_MINUTE: '0' } as const;

/** What a failed test left open would keep the run from ending. */
const open = new Set<Controller>();
afterAll(async () => {
  await Promise.all([...open].map((controller) => controller.close()));
  open.clear();
});

type Changes = Partial<Omit<Settings, 'api'>> & {
  readonly api?: Partial<Settings['api']>;
  readonly database?: TestDatabase;
};

/** Starts a controller of its own over a fresh database; more of them may share `database` and `data`. */
export async function aController(changes: Changes = {}): Promise<TestController> {
  const { database = await aDatabase(), api, ...settings } = changes;
  const data = settings.data ?? tempDir('controller');
  const logged: string[] = [];
  const read = await readSettings({
    DATABASE_URL: database.appUrl,
    LONGSHORE_DATA: data,
    LONGSHORE_PORT: '0',
    ...unlimited,
  });
  const controller = await startController({ ...read, ...settings, api: { ...read.api, ...api } }, logInto(logged));
  open.add(controller);
  const { url } = controller;
  const person = (token: string, id = ''): TestCaller => callerWith(url, token, id);
  const credential = CredentialFile.parse(JSON.parse(await readFile(join(data, 'credential.json'), 'utf8')));
  const admin = person(await personToken(url, credential), credential.principal);

  const invite = async (invitation: object = {}): Promise<string> => {
    const answer = await admin.ask('worker_invite', invitation);
    return z.object({ result: z.object({ ticket: z.string() }) }).parse(answer.body).result.ticket;
  };
  return {
    url,
    controller,
    database,
    data,
    logged,
    admin,
    person,
    invite,
    enrol: async (ticket, { key = newKey(), host = 'here' } = {}) =>
      await exchange(`${url}${identityPaths.enrol}`, post(await enrolment(url, ticket, key, host))),
    aWorker: async (invitation = {}, host = 'here') => workerOf(url, await invite(invitation), host),
    fetch: (path, init) => exchange(`${url}${path}`, init),
    async close() {
      open.delete(controller);
      await controller.close();
    },
  };
}

/** Enrols a worker with a ticket and lets it in. */
export async function workerOf(url: string, ticket: string, host = 'here'): Promise<TestWorker> {
  const key = newKey();
  const enrolled = await exchange(`${url}${identityPaths.enrol}`, post(await enrolment(url, ticket, key, host)));
  const { worker_id } = EnrolReply.parse(enrolled.body);
  const boot = randomUUID();
  const { token } = TokenReply.parse((await workerToken(url, worker_id, key, boot, host)).body);
  return workerWith(url, token, worker_id, key, boot, host);
}

function logInto(lines: string[]): Logger {
  return pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) });
}

function newKey(): KeyObject {
  return generateKeyPairSync('ed25519').privateKey;
}

function rawPublic(key: KeyObject): string {
  return z.object({ x: z.string() }).parse(key.export({ format: 'jwk' })).x;
}

async function challengeOf(url: string): Promise<z.output<typeof Challenge>> {
  return Challenge.parse((await exchange(`${url}${identityPaths.challenge}`)).body);
}

function signed(key: KeyObject, text: string): string {
  return sign(null, Buffer.from(text), key).toString('base64url');
}

async function enrolment(url: string, ticket: string, key: KeyObject, host: string): Promise<object> {
  const { challenge } = await challengeOf(url);
  const signature = signed(key, `enrol\n${challenge}\n${ticket}`);
  return { ticket, public_key: rawPublic(key), challenge, signature, name: 'machine', host };
}

async function workerToken(
  url: string,
  principal: string,
  key: KeyObject,
  boot: string,
  host: string,
): Promise<Answer> {
  const { challenge } = await challengeOf(url);
  const signature = signed(key, `token\n${challenge}\n${principal}\n${boot}`);
  return await exchange(`${url}${identityPaths.token}`, post({ principal, challenge, signature, boot, host }));
}

/** A token of the command line for a credential. */
export async function personToken(url: string, { principal, private_key }: CredentialFile): Promise<string> {
  const key = createPrivateKey({ key: Buffer.from(private_key, 'base64url'), format: 'der', type: 'pkcs8' });
  const { challenge } = await challengeOf(url);
  const signature = signed(key, `token\n${challenge}\n${principal}\n`);
  const answer = await exchange(`${url}${identityPaths.token}`, post({ principal, challenge, signature }));
  return TokenReply.parse(answer.body).token;
}

export function post(body: unknown, extra: Record<string, string> = {}): RequestInit {
  return {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...extra },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  };
}

export async function exchange(url: string, init?: RequestInit): Promise<Answer> {
  const response = await fetch(url, init);
  const text = await response.text();
  return { status: response.status, text, body: parsed(text), headers: response.headers };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Asks as whoever the token is of. */
export function callerWith(url: string, token: string, id: string): TestCaller {
  const ask = (name: string, input: unknown, { confirm, key, jobToken }: CallOptions = {}): Promise<Answer> =>
    exchange(
      `${url}/v1/operations/${name}`,
      post(
        { input, ...(confirm !== undefined && { confirm }) },
        {
          authorization: `Bearer ${token}`,
          ...(key !== undefined && { [headers.idempotencyKey]: key }),
          ...(jobToken !== undefined && { [headers.jobToken]: jobToken }),
        },
      ),
    );
  return {
    id,
    token,
    ask,
    async call(contract, input, options) {
      const answer = await ask(contract.name, input, options);
      if (answer.status !== 200) throw new Error(codeOf(answer));
      return z.object({ result: contract.output }).parse(answer.body).result;
    },
  };
}

function workerWith(url: string, token: string, id: string, key: KeyObject, boot: string, host: string): TestWorker {
  return {
    ...callerWith(url, token, id),
    boot,
    key,
    renew: (otherBoot = boot, otherHost = host) => workerToken(url, id, key, otherBoot, otherHost),
    with: (other, otherBoot) => workerWith(url, other, id, key, otherBoot, host),
  };
}

/** The code of a problem. */
export function codeOf(answer: Answer): string {
  return Problem.parse(answer.body).code;
}
