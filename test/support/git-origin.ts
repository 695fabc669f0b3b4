import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { json } from 'node:stream/consumers';
import { afterAll } from '@jest/globals';
import { z } from 'zod';
import { spawnTracked } from './processes.js';
import { plainGit } from './repositories.js';
import { tempDir } from './temp-dir.js';

/** The name that every origin under test has; its address is told by the test's own name server. */
export const originHost = 'git.example.test';

export interface HttpsOrigin {
  readonly port: number;
  readonly caFile: string;
  /** Paths that were asked for, with the user that was shown. */
  readonly asked: { readonly path: string; readonly user: string | undefined }[];
  /** Users and their tokens; with none everybody reads. */
  readonly tokens: Map<string, string>;
  /** Contents that its LFS server holds, by sha256, for whoever may read the repositories. */
  readonly lfs: Map<string, Buffer>;
  /** Where a batch says that an object lies; default at this server, behind a pass of its own. */
  lfsPlace: ((oid: string) => { href: string; header?: Readonly<Record<string, string>> }) | undefined;
  /** What the server does instead of answering; set by a test. */
  instead: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
  /** `https://git.example.test:<port>/<name>.git` */
  url(name: string): string;
  /** Where the store of its LFS server has an object. */
  objectUrl(oid: string): string;
  /** A bare repository with every ref of a checkout; without one it is empty. */
  publish(name: string, checkout?: string): string;
  close(): Promise<void>;
}

const open = new Set<{ close(): Promise<void> }>();
afterAll(async () => {
  await Promise.all([...open].map((server) => server.close()));
});

/** A git server over real https: this process in front of `git http-backend`. */
export async function anHttpsOrigin(alsoNamed: readonly string[] = []): Promise<HttpsOrigin> {
  const folder = tempDir('origin');
  const root = join(folder, 'repositories');
  mkdirSync(root);
  const { cert, key, caFile } = aCertificate(folder, alsoNamed);
  const answer = gitBackend(root);
  const asked: HttpsOrigin['asked'][number][] = [];
  const tokens = new Map<string, string>();
  const server = createServer({ cert, key }, (request, response) => {
    const user = userOf(request);
    asked.push({ path: request.url ?? '', user: user?.name });
    if (origin.instead?.(request, response) === true) return;
    if (request.url?.startsWith('/lfs-objects/') === true) return sendObject(origin, request, response);
    if (tokens.size > 0 && (user === undefined || tokens.get(user.name) !== user.password)) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
      return;
    }
    if (request.url?.endsWith('/info/lfs/objects/batch') === true)
      void answerBatch(origin, request, response).catch(() => response.destroy());
    else answer(request, response);
  });
  const port = await listen(server);
  const origin: HttpsOrigin = {
    port,
    caFile,
    asked,
    tokens,
    lfs: new Map(),
    lfsPlace: undefined,
    instead: undefined,
    url: (name) => `https://${originHost}:${port}/${name}.git`,
    objectUrl: (oid) => `https://${originHost}:${port}/lfs-objects/${oid}`,
    publish: (name, checkout) => publishInto(join(root, `${name}.git`), checkout),
    close: () => closeServer(server),
  };
  open.add(origin);
  return origin;
}

/** A bare repository at `path` with every ref of the checkout. */
export function publishInto(path: string, checkout?: string): string {
  if (!existsSync(path)) plainGit(tempDir(), ['init', '-q', '--bare', '-b', 'main', path]);
  if (checkout !== undefined) plainGit(checkout, ['push', '-q', '--force', '--mirror', path]);
  plainGit(path, ['config', 'uploadpack.allowFilter', 'true']);
  return path;
}

/** For this machine's names under test, trusted by nobody but who reads `caFile`. */
export function aCertificate(
  folder: string,
  alsoNamed: readonly string[],
): { cert: Buffer; key: Buffer; caFile: string } {
  const [keyFile, caFile] = [join(folder, 'key.pem'), join(folder, 'ca.pem')];
  execFileSync(
    'openssl',
    ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'].concat([
      '-subj',
      `/CN=${originHost}`,
      '-addext',
      `subjectAltName=${[originHost, ...alsoNamed].map((name) => `DNS:${name}`).join()},IP:127.0.0.1`,
      '-keyout',
      keyFile,
      '-out',
      caFile,
    ]),
    { stdio: 'ignore' },
  );
  return { cert: readFileSync(caFile), key: readFileSync(keyFile), caFile };
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      if (typeof address === 'object' && address !== null) resolve(address.port);
      else reject(new Error('no address'));
    });
  });
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

function userOf({ headers }: IncomingMessage): { name: string; password: string } | undefined {
  const [, encoded] = /^Basic (\S+)$/.exec(headers.authorization ?? '') ?? [];
  if (encoded === undefined) return undefined;
  const [name = '', ...password] = Buffer.from(encoded, 'base64').toString().split(':');
  return { name, password: password.join(':') };
}

/** As git-lfs writes it into a repository; the content goes to the server. */
export function lfsPointer(origin: HttpsOrigin, content: Buffer): string {
  const oid = createHash('sha256').update(content).digest('hex');
  origin.lfs.set(oid, content);
  return `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize ${content.length}\n`;
}

/** The header without which the store of this server gives nothing. */
export const lfsPass = { 'x-lfs-pass': 'for-this-object' };

const Batch = z.object({
  operation: z.literal('download'),
  transfers: z.array(z.string()),
  objects: z.array(z.object({ oid: z.string(), size: z.int() })),
});

async function answerBatch(origin: HttpsOrigin, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const asked = Batch.parse(await json(request));
  const place = origin.lfsPlace ?? ((oid) => ({ href: origin.objectUrl(oid), header: lfsPass }));
  const objects = asked.objects.map(({ oid, size }) =>
    origin.lfs.has(oid)
      ? { oid, size, actions: { download: place(oid) } }
      : { oid, size, error: { code: 404, message: 'Object does not exist' } },
  );
  response.writeHead(200, { 'content-type': 'application/vnd.git-lfs+json' });
  response.end(JSON.stringify({ transfer: 'basic', objects }));
}

function sendObject(origin: HttpsOrigin, request: IncomingMessage, response: ServerResponse): void {
  const content = origin.lfs.get(request.url?.slice('/lfs-objects/'.length) ?? '');
  const allowed = request.headers['x-lfs-pass'] === lfsPass['x-lfs-pass'];
  response.writeHead(content === undefined ? 404 : allowed ? 200 : 403).end(allowed ? content : undefined);
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** `git http-backend`, by a process that is started when it is asked for the first time. */
function gitBackend(root: string): Answer {
  let started: Promise<number> | undefined;
  return (request, response) => {
    started ??= startBackend(root);
    started.then(
      (port) => passOn(port, request, response),
      () => response.destroy(),
    );
  };
}

async function startBackend(root: string): Promise<number> {
  const { child, stdout } = await spawnTracked(process.execPath, [join(import.meta.dirname, 'git-backend.mjs'), root]);
  while (!stdout().includes('\n')) await once(child.stdout ?? child, 'data');
  return Number(stdout());
}

/** Headers that are between two neighbours. */
const ofConnection = new Set(['connection', 'keep-alive', 'transfer-encoding', 'expect']);
const passed = (headers: IncomingHttpHeaders) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !ofConnection.has(name)));

function passOn(port: number, request: IncomingMessage, response: ServerResponse): void {
  const { method, url: path, headers } = request;
  const onward = httpRequest({ host: '127.0.0.1', port, method, path, headers: passed(headers) }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, passed(answer.headers));
    answer.pipe(response);
  });
  onward.on('error', () => response.destroy());
  response.on('close', () => onward.destroy());
  request.pipe(onward);
}

export interface SshOrigin {
  readonly port: number;
  /** Line of known_hosts for this server. */
  readonly hostKeys: string;
  /** Private key that it accepts. */
  readonly key: string;
  url(path: string): string;
  /** From now on it shows another host key. */
  changeHostKey(): Promise<void>;
  close(): Promise<void>;
}

const sshdPath = ['/usr/sbin/sshd', '/usr/local/sbin/sshd'].find((path) => existsSync(path));
export const hasSshd = sshdPath !== undefined;

/** A real sshd on loopback, for the user of this process and one key. */
export async function anSshOrigin(): Promise<SshOrigin> {
  const folder = tempDir('sshd');
  const port = await freePort();
  const key = newKey(folder, 'user');
  writeFileSync(join(folder, 'authorized_keys'), readFileSync(`${key}.pub`));
  let hostKey = newKey(folder, 'host');
  let stop = await startSshd(folder, port, hostKey);
  const origin: SshOrigin = {
    port,
    get hostKeys() {
      return `[${originHost}]:${port} ${readFileSync(`${hostKey}.pub`, 'utf8').split(' ').slice(0, 2).join(' ')}\n`;
    },
    key: readFileSync(key, 'utf8'),
    url: (path) => `ssh://${userInfo().username}@${originHost}:${port}${path}`,
    async changeHostKey() {
      await stop();
      hostKey = newKey(folder, 'other-host');
      stop = await startSshd(folder, port, hostKey);
    },
    close: () => stop(),
  };
  open.add(origin);
  return origin;
}

export function newKey(folder: string, name: string, passphrase = ''): string {
  const path = join(folder, name);
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', passphrase, '-C', name, '-f', path]);
  return path;
}

async function startSshd(folder: string, port: number, hostKey: string): Promise<() => Promise<void>> {
  const config = join(folder, 'sshd_config');
  writeFileSync(
    config,
    [
      `Port ${port}`,
      'ListenAddress 127.0.0.1',
      `HostKey ${hostKey}`,
      `AuthorizedKeysFile ${join(folder, 'authorized_keys')}`,
      'StrictModes no',
      'UsePAM no',
      'PasswordAuthentication no',
      'KbdInteractiveAuthentication no',
      `PidFile ${join(folder, 'sshd.pid')}`,
      '',
    ].join('\n'),
  );
  // root's sshd wants the folder of its privilege separation
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true });
  const child = spawn(sshdPath ?? 'sshd', ['-D', '-e', '-f', config], { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const said: string[] = [];
  await new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stderr }).on('line', (line) => {
      said.push(line);
      if (line.includes('Server listening on')) resolve();
    });
    child.once('exit', () => reject(new Error(said.join('\n'))));
    child.once('error', reject);
  });
  return async () => {
    child.kill('SIGTERM');
    await ended;
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  const port = await listen(server);
  await closeServer(server);
  return port;
}
