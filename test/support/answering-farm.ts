import { createPublicKey, generateKeyPairSync, randomUUID, sign, verify } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { runCommandLine } from '../../apps/cli/src/cli.js';
import { tempDir } from './temp-dir.js';

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

export interface Reply {
  readonly status?: number;
  readonly json?: unknown;
  /** Path of a file to send. */
  readonly file?: string;
}

type Answer = (asked: Asked) => Reply | undefined;

/** The HTTP face of a farm with a person in it, whose answers a spec gives: for what the command line makes of them. */
export interface AnsweringFarm {
  readonly url: string;
  /** A credential file of mode 0600 that this farm accepts. */
  readonly credential: string;
  readonly asked: readonly Asked[];
  /** How many tokens were asked for, each with a right signature. */
  readonly tokens: number;
  /** Tokens given so far are refused from now on. */
  forgetTokens(): void;
  close(): Promise<void>;
}

export async function anAnsweringFarm(answer: Answer): Promise<AnsweringFarm> {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const asked: Asked[] = [];
  let given = new Set<string>();
  let tokens = 0;
  const challenge = randomUUID();
  const controller = generateKeyPairSync('ed25519');
  const controller_key = controller.publicKey.export({ format: 'jwk' }).x;
  const shown = sign(null, Buffer.from(`challenge\n${challenge}`), controller.privateKey).toString('base64url');
  const server = createServer((request, response) => {
    void serve(request, response);
  });
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const one = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      body: await buffer(request),
    };
    asked.push(one);
    const reply =
      identity(one) ?? (known(one) ? answer(one) : problem('unauthenticated', 401)) ?? problem('not_found', 404);
    response.statusCode = reply.status ?? 200;
    response.setHeader('content-type', reply.file === undefined ? 'application/json' : 'application/octet-stream');
    response.end(reply.file === undefined ? JSON.stringify(reply.json) : readFileSync(reply.file));
  };
  const known = ({ headers }: Asked) => given.has(headers.authorization?.replace('Bearer ', '') ?? '');
  const identity = ({ path, body }: Asked): Reply | undefined => {
    if (path === '/v1/challenge') return { json: { challenge, farm_id: 'farm', controller_key, signature: shown } };
    if (path !== '/v1/token') return undefined;
    const { principal, signature } = JSON.parse(body.toString());
    const signed = Buffer.from(`token\n${challenge}\n${principal}\n`);
    const key = createPublicKey(publicKey.export({ format: 'pem', type: 'spki' }));
    if (!verify(null, signed, key, Buffer.from(signature, 'base64url'))) return problem('unauthenticated', 401);
    tokens += 1;
    const token = `token-${tokens}`;
    given.add(token);
    return { json: { token, expires_in_seconds: 3600 } };
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  const credential = join(tempDir('credential'), 'credential.json');
  const private_key = privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64url');
  writeFileSync(credential, JSON.stringify({ url, principal: 'p_00000000', farm_id: 'farm', private_key }), {
    mode: 0o600,
  });
  return {
    url,
    credential,
    asked,
    get tokens() {
      return tokens;
    },
    forgetTokens() {
      given = new Set();
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export const problem = (code: string, status: number, more: Readonly<Record<string, unknown>> = {}): Reply => ({
  status,
  json: { type: `urn:longshore:${code}`, title: code, status, code, ...more },
});

export interface Ran {
  readonly exit: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface Around {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly stdin?: string;
  readonly terminal?: boolean;
  /** A person at the terminal: what each types once the prompt has come. */
  readonly person?: readonly { readonly sees: string; readonly types: string }[];
  /** Ctrl-C. */
  readonly signal?: AbortSignal;
}

/** Runs a command line in this process, as `main.ts` does, and answers what it wrote. */
export async function runCli(words: readonly string[], around: Around = {}): Promise<Ran> {
  const { person } = around;
  const stdin = new PassThrough();
  if (!person) stdin.end(around.stdin ?? '');
  const isTTY = around.terminal === true || person !== undefined;
  const stdout = Object.assign(new PassThrough(), { isTTY });
  const stderr = Object.assign(new PassThrough(), { isTTY });
  if (person) sit(person, Object.assign(stdin, { isTTY, setRawMode: () => stdin }), stderr);
  const out = text(stdout);
  const err = text(stderr);
  const exit = await runCommandLine(words, {
    env: { PATH: process.env.PATH, HOME: tempDir('home'), ...around.env },
    cwd: around.cwd ?? tempDir('cwd'),
    stdin,
    stdout,
    stderr,
    signal: around.signal ?? new AbortController().signal,
  });
  stdout.end();
  stderr.end();
  return { exit, stdout: await out, stderr: await err };
}

function sit(lines: NonNullable<Around['person']>, stdin: PassThrough, stderr: PassThrough): void {
  const waiting = [...lines];
  let seen = '';
  stderr.on('data', (chunk: Buffer) => {
    seen += chunk.toString();
    const [next] = waiting;
    if (!next || !seen.includes(next.sees)) return;
    waiting.shift();
    seen = '';
    // The prompt listens once it has been drawn.
    setImmediate(() => stdin.write(next.types));
  });
}
