import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { humanRequestRespond, type OutputOf, taskOverview, taskStart, workflowImport } from '#contracts';
import { startServices } from '../../apps/cli/src/services/services.js';
import { percentile } from './longshore.js';
import { type Join, loadNow, type OperationRow, pageOf, type Report } from './report-teams.js';
import { changesDocument, changesWorkflow } from './team-changes.js';
import { filesOf, goFile, isManager, managerOf, membersOf, treeDocument, treeWorkflow, wavesOf } from './team-tree.js';
import { type Heard, type TeamsFarm, teamsFarm } from './teams-farm.js';

const { values: options } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    /** Children of each Wave. */
    width: { type: 'string', default: '8' },
    /** Tasks whose lead calls what no member of the tree calls, once each. */
    rounds: { type: 'string', default: '5' },
    /** All contributors of a manager end at once, and not one after the other. */
    'at-once': { type: 'boolean', default: false },
    /** Do not write docs/benchmarks-teams.md. */
    dry: { type: 'boolean', default: false },
  },
});
const tree = { width: Number(options.width) };
/** Room for everybody who is at work at once, on each of them: no lease waits for a slot. */
const machines = { workers: 4, slots: 2 * tree.width };
/** Rarely: an overview of a large team is no small call, and its time is not to be in what is measured. */
const pollMs = 3_000;
const operations = [
  ...['get_current_context', 'set_work_plan', 'checkpoint', 'delegate', 'add_child', 'update_child', 'remove_child'],
  ...['start_command_run', 'open_human_request'],
];

async function main(): Promise<void> {
  const [began, load] = [performance.now(), loadNow()];
  const data = await mkdtemp(join(tmpdir(), 'longshore-bench-'));
  const services = await startServices({ data });
  try {
    const farm = await teamsFarm(data, services, machines);
    const watch = new Watch(farm);
    const play = async () => {
      const played = await playTree(farm, watch);
      for (let n = 0; n < Number(options.rounds); n += 1) await playChanges(farm, watch);
      return played;
    };
    const played = await play().catch(async (error: unknown) => {
      await farm.stop();
      throw error;
    });
    const joins = await joinsOf(services.database.ownerUrl, watch.claims);
    const statements = await farm.stop();
    const report: Report = {
      operations: operations.map((name) => rowOf(name, watch.taken.get(name) ?? [], statements.get(name) ?? [])),
      join: joinOf(joins),
      at_once: options['at-once'],
      tree: { ...tree, depth: 3, members: membersOf(tree), waves: joins.length, ...machines, ...played },
      seconds: Math.round((performance.now() - began) / 100) / 10,
      load_before: load,
    };
    const page = pageOf(report);
    if (!options.dry) await writeFile(new URL('../../docs/benchmarks-teams.md', import.meta.url), page);
    console.log(options.json ? JSON.stringify(report) : page);
  } finally {
    await services.stop();
    await rm(data, { recursive: true, force: true });
  }
}

/** What the workers tell: who was given which job when, how long each call took, and which manager waits where. */
class Watch {
  /** When a worker had the lease of a job, by job. */
  readonly claims = new Map<string, number>();
  /** Milliseconds of each call, by operation. */
  readonly taken = new Map<string, number[]>();
  private readonly members = new Map<string, string>();
  private readonly asked = new Map<string, number>();
  /** Managers that wait, by their workspaces. */
  private readonly waiting: string[] = [];
  private busy = false;
  private readonly workspaces = new Map<string, string>();
  /** Contributors that wait, by their manager: jobs. */
  private readonly ready = new Map<string, readonly string[]>();
  private readonly halfDone = new Set<string>();
  readonly failed = Promise.withResolvers<never>();

  constructor(farm: TeamsFarm) {
    farm.listen((heard) => this.hear(heard));
  }

  private hear(heard: Heard): void {
    const { event, job = '', at, step, name, member } = heard;
    if (event === 'claimed') {
      this.claims.set(job, at);
      this.members.set(job, String(member));
    }
    if (event === 'failed' || event === 'lost') this.failed.reject(new Error(JSON.stringify(heard)));
    if (step === 'tool_call') this.asked.set(job, at);
    if (step === 'tool_result') this.noteCall(String(name), at - (this.asked.get(job) ?? at));
    if (event === 'workspace') this.workspaces.set(job, String(heard.path));
    const whose = this.members.get(job) ?? '';
    const manager = managerOf(whose);
    if (manager !== undefined && step === 'tool_result' && name === 'checkpoint') this.noteHalf(manager, job);
    if (manager !== undefined && event === 'completed') this.letNextEnd(manager);
    if (!isManager(whose)) return;
    if (event === 'workspace' && this.isFirstOf(job, whose)) this.waiting.push(String(heard.path));
    if (event === 'completed' && !this.isFirstOf(job, whose)) this.busy = false;
    this.letNextGo();
  }

  private noteCall(name: string, ms: number): void {
    this.taken.set(name, [...(this.taken.get(name) ?? []), ms]);
  }

  private isFirstOf(job: string, member: string): boolean {
    return [...this.members].find(([, other]) => other === member)?.[0] === job;
  }

  /** Each ends when the one before has, in any order: what is measured is the join, and not how the others end on two cores. */
  private noteHalf(manager: string, job: string): void {
    if (this.halfDone.has(job)) return;
    this.halfDone.add(job);
    const ready = [...(this.ready.get(manager) ?? []), job];
    this.ready.set(manager, ready);
    if (ready.length < tree.width) return;
    this.ready.set(manager, shuffled(ready));
    for (let n = options['at-once'] ? ready.length : 1; n > 0; n -= 1) this.letNextEnd(manager);
  }

  private letNextEnd(manager: string): void {
    const [job, ...others] = this.ready.get(manager) ?? [];
    this.ready.set(manager, others);
    if (job !== undefined) this.letGo(this.workspaces.get(job) ?? '');
  }

  private letGo(workspace: string): void {
    writeFile(join(workspace, goFile), '').catch(this.failed.reject);
  }

  /** One Wave at a time: its join is measured and not what the others do to two cores. */
  private letNextGo(): void {
    if (this.busy || this.waiting.length === 0) return;
    this.busy = true;
    this.letGo(this.waiting.shift() ?? '');
  }
}

async function playTree(farm: TeamsFarm, watch: Watch): Promise<{ readonly seconds: number }> {
  await importDocument(farm, treeDocument(tree));
  const began = performance.now();
  const { task_id } = await farm.client.call(taskStart, { workflow_id: treeWorkflow, prompt: 'Do it.' });
  say(`${task_id}: ${membersOf(tree)} members`);
  const { status, result } = await until(farm, watch, task_id, (view) => view.result !== null);
  if (status !== 'completed' || result?.outcome !== 'green' || result.files_changed_total !== filesOf(tree))
    throw new Error(`the Task ended ${status} with ${result?.files_changed_total} files: ${result?.summary}`);
  return { seconds: Math.round((performance.now() - began) / 100) / 10 };
}

async function playChanges(farm: TeamsFarm, watch: Watch): Promise<void> {
  await importDocument(farm, changesDocument());
  const { task_id } = await farm.client.call(taskStart, { workflow_id: changesWorkflow, prompt: 'Do it.' });
  say(`${task_id}: changes of a team`);
  const isOpen = (view: View) => view.human_requests.some(({ status }) => status === 'open');
  const asking = await until(farm, watch, task_id, (view) => isOpen(view) || view.result !== null);
  const request = asking.human_requests.find(({ status }) => status === 'open');
  const action = request?.actions.find(({ kind }) => kind === 'cancel');
  if (!request || !action) throw new Error(`${task_id} asked nobody: ${asking.result?.summary}`);
  const { request_id } = request;
  const answer = { task_id, request_id, action_id: action.id, input: { kind: 'cancel' } } as const;
  await farm.client.call(humanRequestRespond, answer, { confirm: true });
  await until(farm, watch, task_id, (view) => view.result !== null);
}

async function importDocument(farm: TeamsFarm, document: string): Promise<void> {
  const answer = await farm.client.call(workflowImport, { document }, { confirm: true });
  if (!answer.accepted) throw new Error(`the workflow was refused: ${JSON.stringify(answer.issues)}`);
}

type View = OutputOf<typeof taskOverview>;

async function until(farm: TeamsFarm, watch: Watch, task_id: string, fits: (view: View) => boolean): Promise<View> {
  for (;;) {
    const view = await farm.client.call(taskOverview, { task_id });
    if (fits(view)) return view;
    const pause = new Promise((resolve) => setTimeout(resolve, pollMs));
    await Promise.race([pause, watch.failed.promise]);
  }
}

interface JoinRow {
  /** Milliseconds since 1970: the last child's end was written; the parent's next job was. */
  readonly settled: number;
  readonly opened: number;
  readonly successor: string;
  readonly merged: number;
}

interface Joined {
  /** Milliseconds from the last child's end to the parent's next job: everything that git does, and the transaction. */
  readonly merge: number;
  /** From the last child's end to the lease in the hands of a worker. */
  readonly whole: number;
  readonly merged: number;
}

async function joinsOf(ownerUrl: string, claims: ReadonlyMap<string, number>): Promise<readonly Joined[]> {
  const client = new pg.Client({ connectionString: ownerUrl });
  await client.connect();
  try {
    const { rows } = await client.query<JoinRow>(
      `select d.id as successor, extract(epoch from j.created_at)::float8 * 1000 as opened,
         (select max(extract(epoch from c.settled_at)::float8 * 1000) from wave_member m
          join dispatch e on e.assignment = m.assignment join job c on c.id = e.id where m.wave = w.id) as settled,
         (select count(*)::int from wave_member m where m.wave = w.id and m.merge ->> 'outcome' = 'merged') as merged
       from wave w join dispatch d on d.caused_by = w.id join job j on j.id = d.id`,
    );
    if (rows.length !== wavesOf(tree) || rows.some(({ merged }) => merged !== tree.width))
      throw new Error(`not every Wave was joined as it should: ${JSON.stringify(rows)}`);
    return rows.map(({ settled, opened, successor, merged }) => {
      const leased = claims.get(successor);
      if (leased === undefined) throw new Error(`nobody claimed ${successor}`);
      return { merge: opened - settled, whole: leased - settled, merged };
    });
  } finally {
    await client.end();
  }
}

function joinOf(joins: readonly Joined[]): Join {
  const whole = joins.map((each) => each.whole);
  const at = (values: readonly number[], share: number) => rounded(percentile(values, share));
  return {
    waves: joins.length,
    p50_ms: at(whole, 0.5),
    p95_ms: at(whole, 0.95),
    p99_ms: at(whole, 0.99),
    merge_p50_ms: at(
      joins.map(({ merge }) => merge),
      0.5,
    ),
  };
}

function rowOf(name: string, times: readonly number[], statements: readonly number[]): OperationRow {
  return {
    name,
    calls: times.length,
    statements: percentile(statements, 0.5),
    p50_ms: rounded(percentile(times, 0.5)),
    p95_ms: rounded(percentile(times, 0.95)),
  };
}

function shuffled<T>(values: readonly T[]): readonly T[] {
  const drawn = values.map((value) => ({ value, at: Math.random() }));
  return drawn.toSorted((one, other) => one.at - other.at).map(({ value }) => value);
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}

function say(line: string): void {
  console.error(line);
}

await main();
