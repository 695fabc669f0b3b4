import { randomInt } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { z } from 'zod';
import {
  type InputOf,
  queueList,
  taskControl,
  taskEvents,
  taskOverview,
  taskStart,
  workerInvite,
  workflowImport,
} from '#contracts';
import type { FarmClient } from '../../apps/cli/src/client/farm-client.js';
import { openWithCredential } from '../../apps/cli/src/client/open-farm-client.js';
import { type RunningController, startController } from '../../apps/cli/src/farm/controller-process.js';
import { startWorker, type WorkerEvent } from '../../apps/cli/src/farm/worker-process.js';
import { requireFreePort } from '../../apps/cli/src/services/ports.js';
import { type RunningPostgres, startPostgres } from '../../apps/cli/src/services/postgres.js';
import { buildOnce } from './build.js';
import { aDatabase } from './database.js';
import { aNats, type TestNats } from './nats.js';
import { trackPid } from './processes.js';
import { plainGit } from './repositories.js';
import { tempDir } from './temp-dir.js';
import { waitUntil } from './wait-until.js';

export interface FarmOptions {
  /** Names of the workers that join at once. */
  readonly workers?: readonly string[];
  readonly slots?: number;
  /** Default 8 s: a lost lease is seen soon, and a busy machine loses none. */
  readonly leaseMs?: number;
  /** Controllers that share the data folder and the database; default one. */
  readonly controllers?: number;
  /** More variables of the controllers. */
  readonly env?: Readonly<Record<string, string>>;
  /** Where people, agents and workers reach it, when that is not the first controller. */
  readonly publicUrl?: string;
  /** Told where its controllers listen, before anybody asks them. */
  readonly onControllers?: (urls: readonly string[]) => void;
  /** The text of its longshore.toml. */
  readonly configuration?: string;
  /** Without it workers poll. */
  readonly nats?: boolean;
  /** A PostgreSQL that this farm alone uses, and that `restartPostgres` may stop. */
  readonly ownPostgres?: boolean;
}

/** A worker as a process, and what it said. */
export interface FarmWorker {
  readonly name: string;
  readonly id: string;
  readonly home: string;
  readonly pid: number;
  readonly events: readonly WorkerEvent[];
  /** The first event that fits, also one that came before. */
  event(name: string, fits?: (event: WorkerEvent) => boolean): Promise<WorkerEvent>;
  signal(name: NodeJS.Signals): void;
  readonly ended: Promise<unknown>;
  /** Starts a worker over the same folder again. */
  again(): Promise<FarmWorker>;
}

type TaskInput = InputOf<typeof taskStart>;
type TaskView = Awaited<ReturnType<Farm['task']>>;

/** Takes the lead's name of the workflow for granted: one member, the scripted provider. */
const workflow = `
kind: workflow
id: solo
description: One member that follows a script.
lead:
  id: lead
  provider: { kind: scripted }
`;

/** A whole farm of real processes on loopback: controllers, workers, PostgreSQL, NATS. Ended by id after the spec file. */
export class Farm {
  readonly workers = new Map<string, FarmWorker>();

  private constructor(
    readonly data: string,
    readonly client: FarmClient,
    readonly nats: TestNats | undefined,
    readonly databaseUrl: string,
    private readonly controllers: RunningController[],
    private readonly restart: (port: number) => Promise<RunningController>,
    private postgres: RunningPostgres | undefined,
  ) {}

  static async start(options: FarmOptions = {}): Promise<Farm> {
    await buildOnce();
    const { workers = [], controllers = 1, leaseMs = 8_000, nats: withNats = true } = options;
    const data = tempDir('farm');
    if (options.configuration !== undefined) writeFileSync(join(data, 'longshore.toml'), options.configuration);
    const postgres = options.ownPostgres ? await ownPostgres(data, await aKeptPort()) : undefined;
    const [database, nats] = await Promise.all([
      postgres ? { ownerUrl: postgres.url, appUrl: postgres.appUrl } : aDatabase(),
      withNats ? aNats() : undefined,
    ]);
    const begin = async (port: number) => {
      const running = await startController({
        data,
        port,
        leaseMs,
        publicUrl: options.publicUrl,
        ...(options.env && { env: options.env }),
        services: {
          database: { ownerUrl: database.ownerUrl, appUrl: database.appUrl, appRole: 'longshore_app' },
          nats: nats && {
            url: nats.url,
            accountSeed: nats.accountSeed,
            login: { kind: 'creds', creds: nats.controllerCreds },
          },
        },
      });
      trackPid(running.process.pid);
      return running;
    };
    const running: RunningController[] = [];
    while (running.length < controllers) running.push(await begin(await aKeptPort()));
    options.onControllers?.(running.map(({ url }) => url));
    const client = await openWithCredential(join(data, 'credential.json'));
    const farm = new Farm(data, client, nats, database.ownerUrl, running, begin, postgres);
    await farm.client.call(workflowImport, { document: workflow });
    await Promise.all(
      workers.map((name) => farm.join(name, options.slots === undefined ? {} : { slots: options.slots })),
    );
    return farm;
  }

  get url(): string {
    const [first] = this.controllers;
    if (!first) throw new Error('the farm has no controller');
    return first.url;
  }

  /** Addresses of all its controllers. */
  get urls(): readonly string[] {
    return this.controllers.map(({ url }) => url);
  }

  get controllerPids(): readonly number[] {
    return this.controllers.map(({ process }) => process.pid);
  }

  /** Enrols a worker with a fresh ticket and starts it. */
  async join(
    name: string,
    { slots = 2, labels = [], env = {}, url = this.url }: JoinOptions = {},
  ): Promise<FarmWorker> {
    const { ticket } = await this.client.call(workerInvite, { name, slots, labels });
    const home = join(this.data, 'workers', name);
    mkdirSync(home, { recursive: true, mode: 0o700 });
    return this.begin({ name, home, slots, ticket, env, url });
  }

  private async begin(life: Life): Promise<FarmWorker> {
    const { name, home } = life;
    const events: WorkerEvent[] = [];
    const running = await startWorker({
      ...life,
      log: join(this.data, `${name}.log`),
      onEvent: (event) => events.push(event),
    });
    trackPid(running.process.pid);
    const worker: FarmWorker = {
      name,
      id: running.workerId,
      home,
      pid: running.process.pid,
      events,
      event: (wanted, fits = () => true) =>
        waitUntil(() => events.find((event) => event.event === wanted && fits(event)), {
          within: 120_000,
          what: `event ${wanted} of ${name}`,
        }),
      signal: (signal) => running.process.signal(signal),
      ended: running.process.ended,
      again: () => this.begin({ ...life, ticket: undefined }),
    };
    this.workers.set(name, worker);
    return worker;
  }

  /** Starts a Task of one scripted member; the script is the prompt. */
  async startTask(script: string, more: Partial<TaskInput> = {}): Promise<string> {
    const prompt = `Do this.\n\`\`\`yaml longshore-script\n${script.trim()}\n\`\`\`\n`;
    const { task_id } = await this.client.call(taskStart, { workflow_id: 'solo', prompt, ...more });
    return task_id;
  }

  task(taskId: string) {
    return this.client.call(taskOverview, { task_id: taskId });
  }

  /** The Task once its status is one of those named, completed or cancelled by default. */
  until(taskId: string, statuses: readonly string[] = ['completed', 'cancelled'], within = 180_000): Promise<TaskView> {
    return waitUntil(
      async () => {
        const view = await this.task(taskId);
        return statuses.includes(view.status) ? view : undefined;
      },
      { within, every: 100, what: `${taskId} to be ${statuses.join(' or ')}` },
    );
  }

  async jobs(taskId: string) {
    return (await this.client.call(queueList, { task_id: taskId })).jobs;
  }

  async events(taskId: string) {
    return (await this.client.call(taskEvents, { task_id: taskId, limit: 500 })).events;
  }

  async control(taskId: string, kind: 'resume' | 'cancel'): Promise<void> {
    const action = (await this.task(taskId)).actions.find((offered) => offered.kind === kind);
    if (!action) throw new Error(`${kind} is not offered`);
    await this.client.call(taskControl, { task_id: taskId, action_id: action.id }, { confirm: true });
  }

  /** Lets a script go on that waits for the file `go`. */
  async letGo(worker: FarmWorker, job: string): Promise<void> {
    const made = await worker.event('workspace', (event) => event.job === job);
    writeFileSync(join(z.string().parse(made.path), 'go'), '');
  }

  /** A file of the Task's branch, as somebody who fetched it sees it. */
  async fileOf(taskId: string, path: string): Promise<string> {
    const bundle = join(tempDir('result'), 'result.bundle');
    await this.client.getResult(taskId, bundle);
    const clone = tempDir('clone');
    plainGit(clone, ['init', '--quiet']);
    plainGit(clone, ['fetch', '--quiet', bundle, 'refs/longshore/base']);
    const commit = (await this.task(taskId)).result?.commit;
    return plainGit(clone, ['show', `${commit}:${path}`]);
  }

  /** Rows as the owner of the database sees them. */
  async rows<Row extends pg.QueryResultRow>(sql: string, values: unknown[] = []): Promise<readonly Row[]> {
    const client = new pg.Client(this.databaseUrl);
    await client.connect();
    try {
      return (await client.query<Row>(sql, values)).rows;
    } finally {
      await client.end();
    }
  }

  /** SIGKILL to every controller; they are gone when it resolves. */
  async killControllers(): Promise<void> {
    for (const { process } of this.controllers) process.signal('SIGKILL');
    await Promise.all(this.controllers.map(({ process }) => process.ended));
  }

  /** As many controllers as before, at the same addresses. */
  async startControllers(): Promise<void> {
    const ports = this.controllers.map(({ url }) => Number(new URL(url).port));
    const started: RunningController[] = [];
    for (const port of ports) started.push(await this.restart(port));
    this.controllers.splice(0, this.controllers.length, ...started);
  }

  /** Fast shutdown, then the same server over the same data at the same port. */
  async restartPostgres(): Promise<void> {
    if (!this.postgres) throw new Error('this farm shares its PostgreSQL');
    await this.postgres.stop();
    this.postgres = await ownPostgres(this.data, this.postgres.port);
  }

  /** Everything that it started ends; what does not is ended after the spec file. */
  async stop(): Promise<void> {
    for (const worker of this.workers.values()) worker.signal('SIGTERM');
    await Promise.all([...this.workers.values()].map((worker) => worker.ended));
    await Promise.all(this.controllers.map(({ process }) => process.stop(10_000)));
    await this.client.close();
    await this.nats?.stop();
    await this.postgres?.stop();
  }
}

/** A free port that the system gives to nobody who asks for any: what is gone for two minutes finds it free again. */
async function aKeptPort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000);
    const isFree = await requireFreePort(port, 'a test').then(
      () => true,
      () => false,
    );
    if (isFree) return port;
  }
}

async function ownPostgres(data: string, port: number): Promise<RunningPostgres> {
  const postgres = await startPostgres({ data, port });
  trackPid(postgres.pid);
  return postgres;
}

type Env = Readonly<Record<string, string>>;

interface JoinOptions {
  readonly slots?: number;
  readonly labels?: readonly string[];
  readonly env?: Env;
  /** Another road to the controller than the straight one. */
  readonly url?: string;
}

interface Life {
  readonly name: string;
  readonly home: string;
  readonly slots: number;
  readonly ticket: string | undefined;
  readonly env: Env;
  readonly url: string;
}
