import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import type { z } from 'zod';
import {
  addChild,
  type Budget,
  CheckpointInput,
  type commandRunCancel,
  DelegateInput,
  type Ended,
  type FailReason,
  humanRequestRespond,
  type JobPhase,
  type LeaseBeat,
  type LeasedJob,
  type OutputOf,
  openHumanRequest,
  removeChild,
  startCommandRun,
  TaskView,
  taskGet,
  taskMemberSteer,
  taskStart,
  updateChild,
} from '#contracts';
import { openVault } from '#gate';
import { captureWorkspace, cloneWorkspace, type GitLimits, packFor } from '#git';
import { type Claimer, openQueue, type Queue } from '#jobs';
import { type Database, openDatabase, openObjects, statement, type Transaction } from '#store';
import { type LeaseShown, type Machine, type MemberCaller, openTeams, type SourceRules, type Teams } from '#teams';
import { aDatabase } from './database.js';
import { agent, when } from './git-round.js';
import { type Content, writeFiles } from './repositories.js';
import { tempDir } from './temp-dir.js';
import { withClient } from './test-run.js';

/** Default lease of the farms under test, in farm time. */
export const leaseTime = 30_000;
/** For sweeps that a test waits for. */
export const patience = 50_000;
export const person = 'p_00000001';
/** Where links lead; nobody listens there. */
export const farmUrl = 'https://farm.example.test';

type Selection = NonNullable<z.input<typeof taskGet.input>['selection']>;

interface FarmOptions {
  readonly gitLimits?: Partial<GitLimits>;
  readonly outputLimits?: { readonly bytes?: number; readonly bytesPerWorker?: number };
  readonly sources?: Partial<SourceRules>;
  readonly drawTaskId?: () => string;
  readonly drawCommandId?: () => string;
}

export interface TeamFarm {
  readonly database: Database;
  readonly ownerUrl: string;
  readonly data: string;
  readonly queue: Queue;
  readonly teams: Teams;
  /** Subjects that were rung. */
  readonly rings: string[];
  /** Live machines, as the farm hears them; a test says which. */
  readonly machines: Machine[];
  /** What went wrong with single Tasks in sweeps. */
  readonly troubles: unknown[];
  readonly time: { pass(ms: number): Promise<void> };
  /** Publishes a workflow of one member; answers its id. */
  workflow(id?: string, lead?: Readonly<Record<string, unknown>>): Promise<string>;
  /** A Task, still preparing. */
  start(more?: Partial<z.input<typeof taskStart.input>>, principal?: string): Promise<string>;
  /** A Task whose root Dispatch waits for a machine. */
  task(more?: Partial<z.input<typeof taskStart.input>>): Promise<string>;
  /** A Task in a pool of its own, and workers of that pool. */
  alone(
    more?: Partial<z.input<typeof taskStart.input>>,
  ): Promise<{ readonly task: string; worker(name: string): TeamWorker }>;
  /** From now on the transaction that writes this fact of the Task fails, as if the controller had died there. */
  breakAt(task: string, type: string): Promise<{ mend(): Promise<void> }>;
  view(task: string): Promise<TaskView>;
  /** One part of it, whole. */
  select(task: string, selection: Selection): Promise<OutputOf<typeof taskGet>>;
  /** Answers as a person, by the action that the view offers. */
  respond(
    task: string,
    request: string,
    input: z.input<typeof humanRequestRespond.input>['input'],
    action?: string,
  ): Promise<OutputOf<typeof humanRequestRespond>>;
  /** Cancels a command as a person, by the action that its view offers. */
  cancelCommand(task: string, command: string, action?: string): Promise<OutputOf<typeof commandRunCancel>>;
  /** Says something to a member as a person, by the action that the view offers. */
  steer(task: string, member: string, message: string, action?: string): Promise<OutputOf<typeof taskMemberSteer>>;
  control(task: string, kind: 'pause' | 'resume' | 'cancel', budget?: Budget): Promise<unknown>;
  eventTypes(task: string): Promise<readonly string[]>;
  worker(name: string, what?: Partial<Claimer>): TeamWorker;
  tx<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  sql<Row = Readonly<Record<string, unknown>>>(text: string): Promise<readonly Row[]>;
  /** A second controller on the same rows and data. */
  another(): { readonly teams: Teams; readonly queue: Queue };
  close(): Promise<void>;
}

interface Controller {
  readonly database: Database;
  readonly queue: Queue;
  readonly teams: Teams;
}

interface Captured {
  readonly commit: string;
  readonly pack: string;
}

/** The same changes to the same base are the same commit, whoever makes them: twenty gits, once in a test file. */
const captures = new Map<string, Promise<Captured>>();

/** A machine that says what it is told to say, with real workspaces where it is asked for one. */
export class TeamWorker {
  constructor(
    private readonly farm: Controller,
    readonly claimer: Claimer,
  ) {}

  async claim(frozen: readonly { job_id: string; lease_id: string }[] = []): Promise<LeasedJob> {
    const [lease] = await this.farm.database.transaction((tx) =>
      this.farm.queue.claim(tx, this.claimer, { request_id: randomUUID(), limit: 1, frozen }),
    );
    if (!lease) throw new Error('there was nothing to claim');
    return lease;
  }

  /** Claims, and says that the session runs. */
  async begin(): Promise<LeasedJob> {
    const lease = await this.claim();
    await this.beat(lease, 'started');
    return lease;
  }

  async beat(lease: LeasedJob, phase: JobPhase = 'started', progress?: LeaseBeat['progress']) {
    const beat = { ...fenceOf(lease), phase, idle_ms: 0, acks: [], ...(progress === undefined ? {} : { progress }) };
    const [reply] = await this.farm.queue.heartbeat(this.claimer, [beat]);
    return reply;
  }

  /** Says what became of what the session was told. */
  async acknowledge(lease: LeasedJob, ...acks: LeaseBeat['acks']) {
    const [reply] = await this.farm.queue.heartbeat(this.claimer, [
      { ...fenceOf(lease), phase: 'started', idle_ms: 0, acks },
    ]);
    return reply;
  }

  shown(lease: Pick<LeasedJob, 'id' | 'epoch' | 'lease_id'>): LeaseShown {
    const { worker, boot } = this.claimer;
    return { job: lease.id, epoch: lease.epoch, lease_id: lease.lease_id, worker, boot };
  }

  checkpoint(lease: LeasedJob, body: z.input<typeof CheckpointInput>, callId: string = randomUUID()) {
    const caller = { ...this.shown(lease), callId };
    return this.farm.database.transaction((tx) =>
      this.farm.teams.members.checkpoint(tx, caller, CheckpointInput.parse(body)),
    );
  }

  delegate(lease: LeasedJob, body: z.input<typeof DelegateInput>, callId: string = randomUUID()) {
    return this.say(lease, callId, (tx, caller) =>
      this.farm.teams.members.delegate(tx, caller, DelegateInput.parse(body)),
    );
  }

  addChild(lease: LeasedJob, child: z.input<typeof addChild.input>['child'], callId: string = randomUUID()) {
    return this.say(lease, callId, (tx, caller) =>
      this.farm.teams.members.addChild(tx, caller, addChild.input.parse({ child })),
    );
  }

  updateChild(lease: LeasedJob, body: z.input<typeof updateChild.input>, callId: string = randomUUID()) {
    return this.say(lease, callId, (tx, caller) =>
      this.farm.teams.members.updateChild(tx, caller, updateChild.input.parse(body)),
    );
  }

  removeChild(lease: LeasedJob, id: string, callId: string = randomUUID()) {
    return this.say(lease, callId, (tx, caller) =>
      this.farm.teams.members.removeChild(tx, caller, removeChild.input.parse({ id })),
    );
  }

  ask(lease: LeasedJob, request: z.input<typeof openHumanRequest.input>['request'], callId: string = randomUUID()) {
    return this.say(lease, callId, (tx, caller) =>
      this.farm.teams.members.askHuman(tx, caller, openHumanRequest.input.parse({ request })),
    );
  }

  run(lease: LeasedJob, request: z.input<typeof startCommandRun.input>['request'], callId: string = randomUUID()) {
    return this.say(lease, callId, (tx, caller) =>
      this.farm.teams.members.startCommand(tx, caller, startCommandRun.input.parse({ request })),
    );
  }

  private say<T>(lease: LeasedJob, callId: string, call: (tx: Transaction, caller: MemberCaller) => Promise<T>) {
    return this.farm.database.transaction((tx) => call(tx, { ...this.shown(lease), callId }));
  }

  /** Says a handover and completes with it, with what was changed. */
  async handOverBy(
    lease: LeasedJob,
    say: (callId: string) => Promise<unknown>,
    { files = {}, include = [] }: { files?: Readonly<Record<string, Content>>; include?: readonly string[] } = {},
  ) {
    const work = Object.keys(files).length === 0 ? undefined : await this.work(lease, files, include);
    const callId = randomUUID();
    await say(callId);
    if (work) await this.upload(lease, work);
    return this.complete(lease, 'handover', { handover: { call_id: callId }, ...(work && { commit: work.commit }) });
  }

  context(lease: LeasedJob) {
    const caller = { ...this.shown(lease), callId: randomUUID() };
    return this.farm.database.transaction((tx) => this.farm.teams.members.context(tx, caller));
  }

  plan(lease: LeasedJob, steps: readonly { step: string; status: 'pending' | 'in_progress' | 'completed' }[]) {
    const caller = { ...this.shown(lease), callId: randomUUID() };
    return this.farm.database.transaction((tx) => this.farm.teams.members.setPlan(tx, caller, { steps: [...steps] }));
  }

  /** Prepares and completes, as the operation does. */
  async complete(lease: LeasedJob, ended: Ended, result: Readonly<Record<string, unknown>> = {}) {
    const end = { ended, result };
    const prepared = await this.prepare(lease, ended, result);
    return this.farm.database.transaction((tx) =>
      this.farm.queue.complete(tx, this.claimer, fenceOf(lease), end, prepared),
    );
  }

  prepare(lease: LeasedJob, ended: Ended, result: Readonly<Record<string, unknown>> = {}) {
    return this.farm.queue.prepareCompletion(this.claimer, fenceOf(lease), { ended, result });
  }

  fail(lease: LeasedJob, reason: FailReason, retryable = true) {
    return this.farm.database.transaction((tx) =>
      this.farm.queue.fail(tx, this.claimer, fenceOf(lease), { reason, retryable }),
    );
  }

  /** Hands over and completes, with what was changed. */
  async handOver(
    lease: LeasedJob,
    body: z.input<typeof CheckpointInput>,
    files: Readonly<Record<string, Content>> = {},
  ) {
    const include = (body.files ?? []).map((file) => file.path);
    return this.handOverBy(lease, (callId) => this.checkpoint(lease, body, callId), { files, include });
  }

  /** A real workspace of the Dispatch's base, changed and captured. */
  async work(
    lease: LeasedJob,
    files: Readonly<Record<string, Content>>,
    include: readonly string[] = [],
  ): Promise<Captured> {
    const wanted = JSON.stringify([payloadOf(lease).base, files, include]);
    const capturing = captures.get(wanted) ?? this.capture(lease, files, include);
    captures.set(wanted, capturing);
    capturing.catch(() => captures.delete(wanted));
    return capturing;
  }

  private async capture(
    lease: LeasedJob,
    files: Readonly<Record<string, Content>>,
    include: readonly string[],
  ): Promise<Captured> {
    const payload = payloadOf(lease);
    const folder = tempDir('workspace');
    const [dir, gitDir] = [join(folder, 'tree'), join(folder, 'own.git')];
    const { path } = await this.farm.teams.roads.bundle(this.shown(lease), []);
    await cloneWorkspace({ bundle: path, base: payload.base, dir, gitDir, name: 'lead', author: agent });
    writeFiles(dir, files);
    const asked = {
      dir,
      gitDir,
      base: payload.base,
      taskDirectory: payload.task_directory,
      include,
      message: 'Work',
      author: agent,
      when,
    };
    const captured = await captureWorkspace(asked);
    if (captured.kind !== 'captured') throw new Error('nothing was captured');
    const pack = await packFor({ gitDir, commit: captured.commit, base: payload.base, out: join(folder, 'work.pack') });
    return { commit: captured.commit, pack: pack.path };
  }

  upload(lease: Pick<LeasedJob, 'id' | 'epoch' | 'lease_id'>, { commit, pack }: Captured) {
    return this.farm.teams.roads.takePack(this.shown(lease), commit, createReadStream(pack));
  }

  /** The same machine after a restart. */
  rebooted(): TeamWorker {
    return new TeamWorker(this.farm, { ...this.claimer, boot: randomUUID() });
  }
}

export function payloadOf(lease: LeasedJob): {
  readonly base: string;
  readonly task_id: string;
  readonly task_directory: string;
} {
  const { payload } = lease;
  if (typeof payload !== 'object' || payload === null || Array.isArray(payload)) throw new Error('no payload');
  const { base, task_id, task_directory } = payload;
  if (typeof base !== 'string' || typeof task_id !== 'string' || typeof task_directory !== 'string')
    throw new Error('no payload');
  return { base, task_id, task_directory };
}

function fenceOf(lease: Pick<LeasedJob, 'id' | 'epoch' | 'lease_id'>) {
  return { job_id: lease.id, epoch: lease.epoch, lease_id: lease.lease_id };
}

/** The team runtime on a database and a data folder of its own. */
export async function aTeamFarm({ gitLimits, outputLimits, sources, ...draws }: FarmOptions = {}): Promise<TeamFarm> {
  const { appUrl, ownerUrl } = await aDatabase();
  const database = openDatabase({ url: appUrl, max: 10 });
  const data = tempDir('data');
  const vault = await openVault(join(data, 'keys'));
  const rings: string[] = [];
  const troubles: unknown[] = [];
  const machines: Machine[] = [];
  const hearers = new Map<string, Set<(subject: string) => void>>();
  const bell = {
    ring(subject: string) {
      rings.push(subject);
      for (const hear of hearers.get(subject) ?? []) hear(subject);
    },
    listen(subject: string, hear: (subject: string) => void) {
      hearers.set(subject, (hearers.get(subject) ?? new Set()).add(hear));
      return () => void hearers.get(subject)?.delete(hear);
    },
  };
  const controller = (): Controller => {
    const teams = openTeams({
      database,
      objects: openObjects(join(data, 'objects')),
      tasksFolder: join(data, 'tasks'),
      bell,
      queue: () => queue,
      machines: async () => machines,
      vault,
      sources: {
        privateHosts: [],
        roots: [],
        dataFolder: data,
        mirrorsFolder: join(data, 'mirrors'),
        ...sources,
      },
      publicUrl: () => farmUrl,
      onTrouble: (error) => troubles.push(error),
      ...draws,
      ...(gitLimits && { gitLimits }),
      ...(outputLimits && { outputLimits }),
    });
    const queue: Queue = openQueue({
      database,
      kinds: [teams.dispatchKind, teams.commandRunKind, teams.snapshotKind, teams.webhookKind],
      leaseMs: leaseTime,
      mintJobToken: () => 'token',
    });
    return { database, teams, queue };
  };
  const { teams, queue } = controller();
  const tx = <T>(work: (within: Transaction) => Promise<T>) => database.transaction(work);
  const start: TeamFarm['start'] = async (more = {}, principal = person) => {
    const input = taskStart.input.parse({ workflow_id: 'solo', prompt: 'Do it.', ...more });
    const warned = await teams.tasks.prepareStart({ principal }, input);
    return (await tx((within) => teams.tasks.start(within, { principal }, input, warned))).task_id;
  };
  const select: TeamFarm['select'] = async (task_id, selection) => {
    const prepared = await teams.tasks.prepareView({ task_id, selection });
    return taskGet.output.parse(
      await database.reading((within) => teams.tasks.get(within, { task_id, selection }, prepared)),
    );
  };
  const view: TeamFarm['view'] = async (task) => TaskView.parse(await select(task, { kind: 'overview' }));
  const task: TeamFarm['task'] = async (more = {}) => {
    const id = await start(more);
    // a look takes some of those that wait, in no order: others of the test may come first
    for (let moved: readonly string[] = ['']; moved.length > 0 && !moved.includes(id); )
      moved = await teams.sweeps.prepareTasks(patience);
    return id;
  };
  const worker: TeamFarm['worker'] = (name, what = {}) =>
    new TeamWorker(
      { database, queue, teams },
      { worker: name, boot: randomUUID(), pool: 'default', labels: [], accounts: [], slots: 64, ...what },
    );
  return {
    task,
    worker,
    async alone(more = {}) {
      const pool = `pool-${randomUUID().slice(0, 8)}`;
      return { task: await task({ pool, ...more }), worker: (name) => worker(name, { pool }) };
    },
    async breakAt(id, type) {
      const name = `break_${id}_${type}`;
      await withClient(ownerUrl, async (owner) => {
        await owner.query(`create function ${name}() returns trigger language plpgsql as $$begin
          if new.task = '${id}' and new.type = '${type}' then raise exception 'broken off'; end if; return new; end$$`);
        await owner.query(`create trigger ${name} before insert on task_event for each row execute function ${name}()`);
      });
      return {
        mend: () => withClient(ownerUrl, async (owner) => void (await owner.query(`drop function ${name} cascade`))),
      };
    },
    database,
    ownerUrl,
    data,
    queue,
    teams,
    rings,
    machines,
    troubles,
    tx,
    start,
    view,
    select,
    time: {
      async pass(ms) {
        await database.run(passTime, { ms });
      },
    },
    async workflow(id = 'solo', lead = {}) {
      const document = JSON.stringify({
        kind: 'workflow',
        id,
        description: 'One member',
        lead: { id: 'lead', ...lead },
      });
      const answer = await tx((within) => teams.workflows.import(within, { document }));
      if (!answer.accepted) throw new Error(JSON.stringify(answer.issues));
      return id;
    },
    async control(task, kind, budget) {
      const action = (await view(task)).actions.find((offered) => offered.kind === kind);
      if (!action) throw new Error(`the Task does not offer ${kind}`);
      return tx((within) =>
        teams.tasks.control(
          within,
          { principal: person },
          { task_id: task, action_id: action.id, ...(budget && { budget }) },
        ),
      );
    },
    async cancelCommand(task, command, action) {
      const asked = { task_id: task, command_id: command };
      const shown = await database.reading((within) => teams.commands.get(within, asked));
      const action_id = action ?? shown.actions[0]?.id ?? 'none';
      return tx((within) => teams.commands.cancel(within, { principal: person }, { ...asked, action_id }));
    },
    async steer(task, member, message, action) {
      const mate = (await view(task)).team.find(({ member_id }) => member_id === member);
      const action_id = action ?? mate?.steer_action?.id ?? 'none';
      const asked = taskMemberSteer.input.parse({ task_id: task, member_id: member, action_id, message });
      return tx((within) => teams.tasks.steer(within, { principal: person }, asked));
    },
    async respond(task, request, input, action) {
      const shown = (await view(task)).human_requests.find(({ request_id }) => request_id === request);
      const action_id = action ?? shown?.actions.find(({ kind }) => kind === input.kind)?.id ?? 'none';
      const asked = humanRequestRespond.input.parse({ task_id: task, request_id: request, action_id, input });
      return tx((within) => teams.requests.respond(within, { principal: person }, asked));
    },
    async eventTypes(task) {
      const input = { task_id: task, after: 0, limit: 500, wait_seconds: 0 };
      const { events } = await database.reading((within) => teams.tasks.events(within, input));
      return events.map((event) => event.type);
    },
    sql: <Row>(text: string) => database.all(statement<Row>('', text)),
    another: controller,
    async close() {
      await teams.close();
      await database.close();
    },
  };
}

const passTime = statement<unknown>(
  'test.pass_team_time',
  `update farm_clock set farm_at = farm_at + $ms::float8 * interval '1 ms'`,
);
