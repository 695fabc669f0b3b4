import { createHash, generateKeyPairSync, type KeyObject, randomBytes, randomUUID, sign } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll } from '@jest/globals';
import type { z } from 'zod';
import {
  CheckpointInput,
  type CommandRunRequest,
  errorCodes,
  FarmError,
  isFarmErrorCode,
  type JobSettings,
  jobClaim,
  jobComplete,
  jobFail,
  jobHeartbeat,
  type LeaseReply,
  newWorkerId,
  TokenRequest,
} from '#contracts';
import { bundleFor, emptyBase, importBundle, intakePack, type ObjectStore, openStore, pinSubmodules } from '#git';
import { tempDir } from './temp-dir.js';

type ClaimInput = z.output<typeof jobClaim.input>;
type BeatInput = z.output<typeof jobHeartbeat.input>;
type FenceShown = { readonly job_id: string; readonly epoch: number; readonly lease_id: string };

/** A job of the stand-in: one Dispatch, its leases, and what arrived for it. */
export interface StandInJob {
  readonly id: string;
  readonly base: string;
  readonly script: string;
  readonly provider: string;
  /** A Command Run, in place of a script. */
  readonly command?: z.input<typeof CommandRunRequest>;
  state: 'queued' | 'leased' | 'done' | 'cancelled' | 'dead';
  epoch: number;
  lease_id: string;
  holder: string;
  boot: string;
  phase: string;
  /** The sweep takes it when no beat came for a lease time. */
  expiresAt: number;
  end?: { readonly kind: 'cancel' | 'pause'; readonly reason: string };
  steer?: { readonly seq: number; readonly text: string }[];
  requestId?: string;
  completed?: { readonly ended: string; readonly result: Readonly<Record<string, unknown>> };
  failed?: z.output<typeof jobFail.input>;
  readonly packs: { readonly epoch: number; readonly commit: string; readonly how: 'accepted' | 'rescue' }[];
  readonly output: Map<string, string>;
  readonly acks: unknown[];
  /** Dispatches of one Assignment share a workspace where it was kept. */
  assignment?: string;
}

export interface Heard {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly at: number;
}

/** What happens to a request: answered, cut before it is done, cut after it was done, or answered late. */
export type Weather = 'fine' | 'cut_before' | 'cut_after' | { readonly lateMs: number } | { readonly problem: string };

const fine = (): Weather => 'fine';
const usualLeaseMs = 3_000;

/**
 * A faithful stand-in of the controller for tests of one worker: real HTTP, real bundles and packs in a real store, the contracts'
 * shapes, leases with a real clock. What it cannot show is shown against the controller itself.
 */
export class StandInController {
  readonly jobs = new Map<string, StandInJob>();
  readonly heard: Heard[] = [];
  /** Where each download of a bundle began. */
  readonly ranges: number[] = [];
  /** The most member calls that were under way at once. */
  memberCallsMost = 0;
  private memberCallsNow = 0;
  readonly calls: { job: string; operation: string; callId: string; input: unknown }[] = [];
  weather: (heard: Heard) => Weather = fine;
  leaseMs = usualLeaseMs;
  drain = false;
  /** What the Tasks' repository gives to their sandboxes. */
  repository: JobSettings['repository'] = null;
  inUse: string | undefined;
  /** The next download of a bundle breaks off after so many bytes. */
  cutBundleAt: number | undefined;
  private readonly queue = new EventEmitter<{ job: [] }>();
  private readonly receipts = new Map<string, unknown>();
  private readonly key: KeyObject;
  private readonly rawKey: string;
  private server: Server;
  private port = 0;
  private isAway = false;
  private readonly workerId = newWorkerId();
  private sweep: NodeJS.Timeout;

  private constructor(
    readonly store: ObjectStore,
    private readonly emptyCommit: string,
    private readonly labels: readonly string[],
  ) {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    this.key = privateKey;
    this.rawKey = publicKey.export({ format: 'jwk' }).x ?? '';
    this.server = this.newServer();
    this.sweep = setInterval(() => this.sweepLeases(), 100);
  }

  static async open(labels: readonly string[] = []): Promise<StandInController> {
    const store = await openStore(join(tempDir('store'), 'task.git'));
    const farm = new StandInController(store, await emptyBase(store), labels);
    await farm.listen();
    farms.push(farm);
    return farm;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get ticket(): string {
    return `ls-join.${randomBytes(24).toString('base64url')}.${this.fingerprint}`;
  }

  get fingerprint(): string {
    return createHash('sha256').update(Buffer.from(this.rawKey, 'base64url')).digest('base64url');
  }

  get worker(): string {
    return this.workerId;
  }

  async base(bundle?: string): Promise<string> {
    return bundle === undefined ? this.emptyCommit : (await importBundle(this.store, bundle)).head;
  }

  /** From now on bundles bring the head of this bundle along as a submodule; answers the pin. */
  async submodule(bundle: string): Promise<string> {
    const pin = await pinSubmodules(this.store, [(await importBundle(this.store, bundle)).head]);
    if (pin === undefined) throw new Error('nothing was pinned');
    return pin;
  }

  /** For the next test at the same farm: what one had set is as at the beginning, and no job of it goes on. */
  startOver(): void {
    this.weather = fine;
    this.leaseMs = usualLeaseMs;
    this.drain = false;
    this.repository = null;
    this.inUse = undefined;
    this.cutBundleAt = undefined;
    for (const job of this.jobs.values()) {
      if (job.state === 'queued') job.state = 'cancelled';
      if (job.state === 'leased') job.end = { kind: 'cancel', reason: 'its test is over' };
    }
  }

  /** A Command Run on a commit. */
  addCommand(command: z.input<typeof CommandRunRequest>, base = this.emptyCommit, provider = 'scripted'): StandInJob {
    return this.add('', base, provider, command);
  }

  add(
    script: string,
    base = this.emptyCommit,
    provider = 'scripted',
    command?: z.input<typeof CommandRunRequest>,
  ): StandInJob {
    const job: StandInJob = {
      ...(command && { command }),
      id: randomUUID(),
      base,
      script,
      provider,
      state: 'queued',
      epoch: 0,
      lease_id: '',
      holder: '',
      boot: '',
      phase: '',
      expiresAt: 0,
      packs: [],
      output: new Map(),
      acks: [],
    };
    this.jobs.set(job.id, job);
    this.queue.emit('job');
    return job;
  }

  /** As when another worker claims it: whatever lease there was is over. */
  giveToAnother(job: StandInJob): void {
    this.lease(job, 'w_another0', randomUUID(), randomUUID());
    job.expiresAt = Number.POSITIVE_INFINITY;
  }

  /** Nobody at home: connections are refused. */
  async away(): Promise<void> {
    this.isAway = true;
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  async back(): Promise<void> {
    for (const job of this.jobs.values())
      if (job.state === 'leased') job.expiresAt = Math.max(job.expiresAt, Date.now() + this.leaseMs);
    this.isAway = false;
    this.server = this.newServer();
    await this.listen(this.port);
  }

  async close(): Promise<void> {
    clearInterval(this.sweep);
    await this.away().catch(() => undefined);
  }

  requests(path: RegExp): readonly Heard[] {
    return this.heard.filter((heard) => path.test(heard.path));
  }

  private async listen(port = 0): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(port, '127.0.0.1', resolve));
    const address = this.server.address();
    if (address !== null && typeof address === 'object') this.port = address.port;
  }

  private newServer(): Server {
    return createServer((request, response) => {
      this.answer(request, response).catch((error: unknown) => {
        if (response.destroyed || response.headersSent) return;
        const fault = error instanceof FarmError ? error : new FarmError('internal', String(error));
        const { status, title } = errorCodes[fault.code];
        const kept = fault.hint === 'kept' ? { kept: true } : {};
        response.writeHead(status, { 'content-type': 'application/problem+json' });
        response.end(JSON.stringify({ type: 'urn:x', title, status, code: fault.code, detail: fault.detail, ...kept }));
      });
    });
  }

  private sweepLeases(): void {
    // its time stands still while it is away (H3)
    if (this.isAway) return;
    for (const job of this.jobs.values()) {
      if (job.state !== 'leased' || job.expiresAt >= Date.now()) continue;
      // a command that was started is abandoned, and nobody gets it again (H8)
      const abandoned = job.command !== undefined && job.phase !== 'preparing';
      job.state = job.end?.kind === 'cancel' ? 'cancelled' : abandoned ? 'dead' : 'queued';
      this.queue.emit('job');
    }
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyOf(request);
    const path = request.url ?? '';
    const isJson = request.headers['content-type'] === 'application/json';
    const heard = {
      method: request.method ?? '',
      path,
      body: isJson ? JSON.parse(body.toString()) : body,
      at: Date.now(),
    };
    this.heard.push(heard);
    const weather = this.weather(heard);
    if (weather === 'cut_before') return void request.socket.destroy();
    if (typeof weather === 'object' && 'problem' in weather)
      throw new FarmError(isFarmErrorCode(weather.problem) ? weather.problem : 'internal');
    const isMember = /operations\/(?!job_)/.test(path);
    if (isMember) this.memberCallsMost = Math.max(this.memberCallsMost, ++this.memberCallsNow);
    try {
      const reply = await this.handle(request, heard, body, response);
      if (typeof weather === 'object' && 'lateMs' in weather) await pause(weather.lateMs, undefined, { ref: false });
      if (weather === 'cut_after') request.socket.destroy();
      else if (reply !== undefined) sendJson(response, reply);
    } finally {
      if (isMember) this.memberCallsNow -= 1;
    }
  }

  private async handle(
    request: IncomingMessage,
    heard: Heard,
    body: Buffer,
    response: ServerResponse,
  ): Promise<unknown> {
    const { path } = heard;
    if (path === '/v1/challenge') return this.challenge();
    if (path === '/v1/enrol') return this.enrolled();
    if (path === '/v1/token') return this.token(heard.body);
    const [, boot = ''] = /^Bearer worker-(.+)$/.exec(request.headers.authorization ?? '') ?? [];
    if (boot === '') throw new FarmError('unauthenticated');
    const operation = /^\/v1\/operations\/(\w+)$/.exec(path)?.[1];
    if (operation !== undefined) {
      const input = inputOf(heard.body);
      if (operation === 'job_claim') return { result: await this.claimed(jobClaim.input.parse(input), boot, response) };
      return { result: await this.operate(operation, input, boot, request) };
    }
    return this.road(path, request, body, response);
  }

  private challenge(): unknown {
    const challenge = randomBytes(16).toString('base64url');
    const signature = sign(null, Buffer.from(`challenge\n${challenge}`), this.key).toString('base64url');
    return { challenge, farm_id: 'farm', controller_key: this.rawKey, signature };
  }

  private enrolled(): unknown {
    return {
      worker_id: this.workerId,
      farm_id: 'farm',
      fingerprint: this.fingerprint,
      pool: 'default',
      labels: [...this.labels],
      slot_ceiling: 8,
    };
  }

  private token(body: unknown): unknown {
    if (this.inUse !== undefined)
      throw new FarmError('identity_in_use', `Another process uses this identity: a process on ${this.inUse}.`);
    const { boot } = TokenRequest.parse(body);
    return { token: `worker-${boot}`, expires_in_seconds: 900 };
  }

  private lease(job: StandInJob, holder: string, boot: string, requestId: string): void {
    job.state = 'leased';
    job.epoch += 1;
    job.lease_id = randomUUID();
    job.holder = holder;
    job.boot = boot;
    job.requestId = requestId;
    job.phase = 'preparing';
    job.expiresAt = Date.now() + this.leaseMs;
  }

  private operate(name: string, input: unknown, boot: string, request: IncomingMessage): unknown {
    if (name === 'job_heartbeat') return this.beat(jobHeartbeat.input.parse(input), boot);
    if (name === 'job_complete') return this.complete(jobComplete.input.parse(input), boot);
    if (name === 'job_fail') {
      const failure = jobFail.input.parse(input);
      const job = this.fenced(failure, boot);
      job.failed = failure;
      job.state = 'dead';
      return { state: 'dead' };
    }
    return this.member(name, input, request, boot);
  }

  private complete(end: z.output<typeof jobComplete.input>, boot: string): unknown {
    const job = this.fenced(end, boot, end.ended);
    if (job.completed === undefined) {
      job.completed = { ended: end.ended, result: isRecord(end.result) ? end.result : {} };
      job.state = job.end?.kind === 'cancel' ? 'cancelled' : 'done';
    }
    return { state: job.state, kept: true };
  }

  /** Held open until there is a job, as long as the worker wants to wait for one (H18). */
  private async claimed(input: ClaimInput, boot: string, response: ServerResponse): Promise<unknown> {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const over = AbortSignal.any([gone.signal, AbortSignal.timeout(Math.ceil(input.wait_seconds * 1_000))]);
    for (;;) {
      const jobs = gone.signal.aborted ? [] : this.claim(input, boot);
      if (jobs.length > 0 || over.aborted) return { jobs };
      await once(this.queue, 'job', { signal: over }).catch(() => undefined);
    }
  }

  private claim(input: ClaimInput, boot: string): readonly unknown[] {
    const given: unknown[] = [];
    const give = (job: StandInJob, continues: boolean) => given.push({ ...this.leased(job), continues });
    for (const job of this.jobs.values()) {
      const again = job.state === 'leased' && job.requestId === input.request_id && job.boot === boot;
      if (again) give(job, false);
    }
    if (given.length > 0) return given;
    for (const { job_id, lease_id } of input.frozen) {
      const job = this.jobs.get(job_id);
      if (job?.state !== 'queued' || job.lease_id !== lease_id || job.boot !== boot) continue;
      this.lease(job, this.workerId, boot, input.request_id);
      give(job, true);
    }
    for (const job of this.jobs.values()) {
      if (job.state !== 'queued' || given.length >= input.limit) continue;
      this.lease(job, this.workerId, boot, input.request_id);
      give(job, false);
    }
    return given;
  }

  private leased(job: StandInJob): object {
    return {
      id: job.id,
      kind: job.command === undefined ? 'dispatch' : 'command_run',
      epoch: job.epoch,
      lease_id: job.lease_id,
      lease_ms: this.leaseMs,
      heartbeat_ms: Math.round(this.leaseMs / 3),
      token: this.jobToken(job),
      payload: {
        task_id: 't_00000000',
        member_id: 'worker',
        title: 'A Task',
        base: job.base,
        task_directory: '.longshore/t_00000000',
        provider: job.provider,
        ...(job.assignment !== undefined && { assignment_id: job.assignment }),
        ...(job.command && { command_id: 'c_00000000', purpose: job.assignment === undefined ? 'verify' : 'member' }),
      },
    };
  }

  private jobToken(job: StandInJob): string {
    return `job-${job.id}-${job.epoch}-${job.lease_id}`;
  }

  private beat(input: BeatInput, boot: string): unknown {
    const leases = input.leases.map((lease): LeaseReply => {
      const job = this.jobs.get(lease.job_id);
      if (job === undefined || !this.holds(job, lease, boot))
        return { held: false, job_id: lease.job_id, code: 'stale_lease' };
      job.expiresAt = Date.now() + this.leaseMs;
      job.phase = lease.phase;
      job.acks.push(...lease.acks);
      return {
        held: true,
        job_id: job.id,
        lease_ms: this.leaseMs,
        token: this.jobToken(job),
        ...(job.end === undefined ? {} : { end: job.end }),
        ...(job.steer === undefined ? {} : { steer: job.steer }),
      };
    });
    return { worker: { drain: this.drain, paused: false }, leases };
  }

  private holds(job: StandInJob, fence: Omit<FenceShown, 'job_id'>, boot: string): boolean {
    const sameLease = fence.epoch === job.epoch && fence.lease_id === job.lease_id && job.boot === boot;
    return sameLease && job.state === 'leased' && job.expiresAt > Date.now();
  }

  private fenced(fence: FenceShown, boot: string, ended?: string): StandInJob {
    const job = this.jobs.get(fence.job_id);
    const same = job?.completed !== undefined && job.completed.ended === ended && job.lease_id === fence.lease_id;
    if (job === undefined || (!this.holds(job, fence, boot) && !same)) throw new FarmError('stale_lease');
    return job;
  }

  /** Receipts: the same call id again gets the same answer and is done once. */
  private member(name: string, input: unknown, request: IncomingMessage, boot: string): unknown {
    const job = this.jobOf(request);
    if (job === undefined || !this.holds(job, job, boot)) throw new FarmError('stale_lease');
    const callId = String(request.headers['idempotency-key']);
    const kept = this.receipts.get(callId);
    if (kept !== undefined) return kept;
    this.calls.push({ job: job.id, operation: name, callId, input });
    const reply = name === 'checkpoint' ? checkpointReply(CheckpointInput.parse(input)) : { changed: true, plan: null };
    this.receipts.set(callId, reply);
    return reply;
  }

  /** The job of a token, if that is of its last lease. */
  private jobOf(request: IncomingMessage): StandInJob | undefined {
    return [...this.jobs.values()].find((job) => request.headers['longshore-job'] === this.jobToken(job));
  }

  private async road(path: string, request: IncomingMessage, body: Buffer, response: ServerResponse): Promise<unknown> {
    const [, id = '', rest = ''] = /^\/v1\/jobs\/([^/]+)\/(.+)$/.exec(path) ?? [];
    const job = this.jobs.get(id);
    if (job === undefined) throw new FarmError('not_available');
    if (rest === 'settings') return { repository: this.repository };
    if (rest === 'request' && job.command !== undefined) return job.command;
    if (rest === 'request')
      return {
        instructions: 'You are a test.',
        manifest: '# The team\n',
        input: `\`\`\`yaml longshore-script\n${job.script}\n\`\`\`\n`,
      };
    if (rest === 'bundle') return this.sendBundle(job, request, response);
    const [, epoch = '', kind = '', name = ''] = /^epochs\/(\d+)\/(packs|output)\/(\w+)$/.exec(rest) ?? [];
    const live =
      this.jobOf(request) === job &&
      Number(epoch) === job.epoch &&
      job.state === 'leased' &&
      job.expiresAt > Date.now();
    if (kind === 'output') {
      if (!live) throw new FarmError('stale_lease');
      job.output.set(`${epoch}/${name}`, body.toString());
      // several may be on the road at once: in the order of their numbers
      const inOrder = [...job.output].sort(([one], [other]) => one.localeCompare(other, 'en', { numeric: true }));
      job.output.clear();
      for (const [segment, text] of inOrder) job.output.set(segment, text);
      return {};
    }
    await intakePack(this.store, { pack: Readable.from([body]), base: job.base, commit: name });
    job.packs.push({ epoch: Number(epoch), commit: name, how: live ? 'accepted' : 'rescue' });
    if (!live) throw new FarmError('stale_lease', 'The lease is over; the pack is kept as a rescue.', { hint: 'kept' });
    return {};
  }

  private async sendBundle(job: StandInJob, request: IncomingMessage, response: ServerResponse): Promise<undefined> {
    const path = await bundleFor(this.store, job.base, { submodules: true });
    const { size } = await stat(path);
    const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
    this.ranges.push(from);
    response.writeHead(from > 0 ? 206 : 200, { 'content-length': size - from });
    const cut = this.cutBundleAt;
    this.cutBundleAt = undefined;
    if (cut === undefined) createReadStream(path, { start: from }).pipe(response);
    else
      createReadStream(path, { start: from, end: from + cut - 1 })
        // An orderly close of the line: what was sent arrives, a reset might overtake it.
        .on('end', () => response.socket?.end())
        .pipe(response, { end: false });
    return undefined;
  }
}

function sendJson(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
}

function checkpointReply(input: CheckpointInput): unknown {
  const terminal = input.outcome !== undefined;
  return { checkpoint: { id: randomUUID(), ...input }, terminal, must_stop: terminal };
}

function inputOf(body: unknown): unknown {
  return isRecord(body) ? body.input : undefined;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const farms: StandInController[] = [];
afterAll(async () => {
  for (const farm of farms.splice(0)) await farm.close();
});
