import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CredentialFile, limits, workerInvite } from '#contracts';
import type { FarmClient } from '../client/farm-client.js';
import { openWithCredential } from '../client/open-farm-client.js';
import { openDataFolder } from '../services/data-folder.js';
import { requireFreePort } from '../services/ports.js';
import { writePrivateJson } from '../services/private-file.js';
import { markOf, type ProcessMark } from '../services/process-mark.js';
import { openRunRecords, type RunRecords } from '../services/run-records.js';
import { givenByEnvironment, type Services, startServices } from '../services/services.js';
import { type FirstAdmin, logFolder, type RunningController, startController } from './controller-process.js';
import { sandboxLabels } from './sandbox.js';
import { Supervised } from './supervised.js';
import { hasJoined, type RunningWorker, startWorker, type WorkerEvent } from './worker-process.js';

export interface LocalFarmOptions {
  readonly data: string;
  readonly env: NodeJS.ProcessEnv;
  /** 0 takes a free one; absent: as the configuration says. */
  readonly port: number | undefined;
  /** Configuration file of the controller; absent: longshore.toml in the data folder, where there is one. */
  readonly config?: string | undefined;
  readonly host?: string | undefined;
  readonly publicUrl?: string | undefined;
  readonly insecure?: boolean | undefined;
  /** Whether nats-server may be installed by the package manager. */
  readonly install?: boolean | undefined;
  readonly leaseMs?: number | undefined;
  /** Called at the farm's first start; what it is told is kept nowhere. */
  readonly onFirstAdmin?: (admin: FirstAdmin) => void;
  /** Start again what ends by itself. */
  readonly again: boolean;
  readonly say: (line: string) => void;
}

export interface LocalWorkerOptions {
  readonly name: string;
  readonly slots?: number | undefined;
  readonly env?: Readonly<Record<string, string>>;
  readonly onEvent?: (event: WorkerEvent) => void;
}

/** What of our environment is the controller's own business. */
const passedOn = [
  'LONGSHORE_TLS_CERT_FILE',
  'LONGSHORE_TLS_KEY_FILE',
  'LONGSHORE_LOG_LEVEL',
  'LONGSHORE_SOURCE_HOSTS',
  'LONGSHORE_SOURCE_ROOTS',
  'LONGSHORE_SOURCE_CA_FILE',
  'LONGSHORE_CONFIG',
  'LONGSHORE_CONFIG_GENERATION',
  'LONGSHORE_CONFIRM_TTL_SECONDS',
  'LONGSHORE_MAX_PENDING_CONFIRMATIONS',
  'LONGSHORE_PROPOSAL_CHANGES_SHOWN',
  'LONGSHORE_LIFT_NEVER',
  'LONGSHORE_TRUSTED_PROXIES',
  'LONGSHORE_CALLS_PER_MINUTE',
  'LONGSHORE_SIGN_INS_PER_MINUTE',
  'LONGSHORE_MCP_ENABLED',
  'LONGSHORE_MCP_MAX_RESULT_BYTES',
] as const;
/** A killed worker's identity is free after a lease time (D16). */
const slowJoinMs = 5_000;
const controllerPatienceMs = 15_000;
const workerPatienceMs = limits.drainMs + 15_000;

/** The farm of this machine: PostgreSQL, NATS, one controller and workers, each a process of its own, over one data folder. */
export class LocalFarm {
  readonly workers = new Map<string, Supervised<RunningWorker>>();
  /** Every process that was started here, for the proof that none is left. */
  readonly marks: ProcessMark[] = [];
  private readonly undo: (() => Promise<unknown>)[] = [];
  private controller: Supervised<RunningController> | undefined;
  private farmClient: FarmClient | undefined;
  private records: RunRecords | undefined;
  private services: Services | undefined;

  private constructor(private readonly options: LocalFarmOptions) {}

  /** Opens the folder, ends what a crash left there, starts everything but workers. When a part fails, the others are ended. */
  static async open(options: LocalFarmOptions): Promise<LocalFarm> {
    const farm = new LocalFarm(options);
    try {
      await farm.start();
      return farm;
    } catch (error) {
      await farm.stop();
      throw error;
    }
  }

  get url(): string {
    return this.controller?.current?.url ?? '';
  }

  /** 0 while it is down. */
  get controllerPid(): number {
    return this.controller?.current?.process.pid ?? 0;
  }

  get credentialFile(): string {
    return join(this.options.data, 'credential.json');
  }

  get client(): FarmClient {
    if (this.farmClient === undefined) throw new Error('the farm is not open');
    return this.farmClient;
  }

  /** The running worker of this name. */
  worker(name: string): RunningWorker {
    const running = this.workers.get(name)?.current;
    if (running === undefined) throw new Error(`there is no worker ${name}`);
    return running;
  }

  private async start(): Promise<void> {
    const { data, env, port, install, say } = this.options;
    const folder = await openDataFolder(data);
    this.undo.push(() => folder.release());
    this.records = await openRunRecords(data);
    const ended = await this.records.endLeft('controller');
    if (ended.length > 0) say(`ended what an earlier run had left: ${ended.join(', ')}`);
    if (port !== undefined && port !== 0) await requireFreePort(port, 'the controller');
    this.services = await startServices({ data, ...givenByEnvironment(env), ...(install === true && { install }) });
    const { services } = this;
    this.undo.push(() => services.stop());
    for (const { pid } of services.started) this.note(pid);
    await this.startController();
    this.farmClient = await openWithCredential(this.credentialFile);
  }

  /** Starts the controller, at the address that it had before when there was one. */
  async startController(): Promise<void> {
    const { data, config, host, port, publicUrl, insecure, leaseMs, onFirstAdmin, again, say } = this.options;
    const tellsFirstPassword = onFirstAdmin !== undefined;
    const { services } = this;
    const passed = Object.fromEntries(passedOn.map((name) => [name, this.options.env[name]]));
    const env = { ...passed, ...(config !== undefined && { LONGSHORE_CONFIG: config }) };
    if (services === undefined) throw new Error('the farm has no services');
    let listensAt = this.url === '' ? port : Number(new URL(this.url).port);
    this.controller = new Supervised({
      name: 'controller',
      again,
      say,
      start: () =>
        startController({
          ...{ data, services, host, port: listensAt, publicUrl, insecure, leaseMs, env },
          tellsFirstPassword,
        }),
      onStarted: async ({ process, url, firstAdmin }) => {
        if (firstAdmin) onFirstAdmin?.(firstAdmin);
        // Clients know this address: a restart must listen there again.
        listensAt = Number(new URL(url).port);
        await this.record('controller', process.pid);
      },
    });
    const { url } = await this.controller.begin();
    await this.nameAddress(url);
  }

  /** kill -9, as a machine that loses power does it. */
  async killController(): Promise<void> {
    this.controller?.current?.process.signal('SIGKILL');
    await this.controller?.current?.process.ended;
  }

  /** Starts a worker; one that never joined gets a ticket through the API, by stdin. */
  async addWorker({ name, slots, env, onEvent }: LocalWorkerOptions): Promise<RunningWorker> {
    const { data, again, say } = this.options;
    const home = join(data, 'workers', name);
    const log = join(await logFolder(data), `worker-${name}.log`);
    const worker = new Supervised({
      name: `worker ${name}`,
      again,
      say,
      start: async () =>
        await startWorker({
          name,
          home,
          url: this.url,
          log,
          slots,
          ticket: (await hasJoined(home)) ? undefined : await this.invite(name, slots),
          wait: true,
          ...(env && { env }),
          ...(onEvent && { onEvent }),
        }),
      onStarted: ({ process }) => this.record(`worker-${name}`, process.pid),
    });
    this.workers.set(name, worker);
    const slow = setTimeout(
      () => say(`worker ${name} waits until the farm gives its identity free: its last process said no goodbye`),
      slowJoinMs,
    );
    try {
      return await worker.begin();
    } finally {
      clearTimeout(slow);
    }
  }

  /** Drains: workers hand in what they have, then the controller ends, then what it stands on. Safe to call twice. */
  async stop(): Promise<void> {
    await Promise.all([...this.workers.values()].map((worker) => worker.stop(workerPatienceMs)));
    await this.farmClient?.close();
    await this.controller?.stop(controllerPatienceMs);
    for (const step of this.undo.splice(0).reverse()) await step();
    for (const name of ['controller', ...[...this.workers.keys()].map((worker) => `worker-${worker}`)]) {
      await this.records?.forget(name);
    }
  }

  /** Ends our programs at once; `stop` then has nothing to wait for. Leases run out by themselves. */
  endAtOnce(): void {
    for (const worker of this.workers.values()) worker.current?.process.signal('SIGKILL');
    this.controller?.current?.process.signal('SIGKILL');
  }

  private async invite(name: string, slots = 4): Promise<string> {
    const labels = await sandboxLabels();
    const { ticket } = await this.client.call(workerInvite, { name, slots, labels }, { confirm: true });
    return ticket;
  }

  private async record(name: string, pid: number): Promise<void> {
    this.note(pid);
    await this.records?.record(name, pid);
  }

  private note(pid: number): void {
    const mark = markOf(pid);
    if (mark !== undefined) this.marks.push(mark);
  }

  /** The credential names the address; another port than at the first start would leave it pointing nowhere. */
  private async nameAddress(url: string): Promise<void> {
    const credential = CredentialFile.parse(JSON.parse(await readFile(this.credentialFile, 'utf8')));
    if (credential.url !== url) await writePrivateJson(this.credentialFile, { ...credential, url });
  }
}
