import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FarmError, taskStart, workflowImport } from '#contracts';
import { LocalFarm } from '../../farm/local-farm.js';
import { packageFile } from '../../farm/package-file.js';
import { processesWith } from '../../farm/process-scan.js';
import { isAlive } from '../../services/process-mark.js';
import type { CommandRun } from '../frame.js';
import { followEvents } from '../task/follow-task.js';
import { sendCheckout } from '../task/task-start.js';
import { workerEventLine } from '../worker-events.js';
import { untilNone } from './agent-processes.js';
import { answerRequest } from './answer-request.js';
import { type DemoFolder, makeDemoFolder } from './demo-folder.js';
import { makeLibrary } from './library.js';
import type { Fault, Session, Stage } from './stage.js';
import { TeamRecord } from './team-record.js';
import { tellResult } from './tell-result.js';
import { WorkerWatch } from './worker-watch.js';

export interface DemoOptions {
  readonly fault: Fault | undefined;
  readonly keep: boolean;
  /** The person answers what the team asks. */
  readonly ask: boolean;
}

/** Far more than any of them takes: what is not over by then will not end by itself. */
const longestMs = 300_000;
/** A person thinks. */
const longestAskedMs = 1_800_000;
const workerNames = ['north', 'south'];
const prompt = `Mend the slug library: its own test fails.

Find out why, have the code mended and reviewed (the test is right), and note the change in CHANGELOG.md.`;
/** The words of the script after which a fault strikes: the agent is in the middle of its work. */
const middle = 'I think it over';

/** Plays the demonstration; throws where anything did not go as promised, and then keeps the folder for a look. */
export async function playDemo(run: CommandRun, options: DemoOptions): Promise<void> {
  const began = performance.now();
  const longest = options.ask ? longestAskedMs : longestMs;
  const late = AbortSignal.timeout(longest);
  const signal = AbortSignal.any([run.surroundings.signal, late]);
  const folder = await makeDemoFolder(run.data);
  const seconds = () => Math.round((performance.now() - began) / 100) / 10;
  const { tint } = run.screen;
  const tell = (who: string, line: string) =>
    run.screen.say(`${tint.dim(seconds().toFixed(1).padStart(5))}  ${tint.cyan(who.padEnd(16))}  ${line}`);
  try {
    const told = await playOn({ ...run, surroundings: { ...run.surroundings, signal } }, options, folder, tell);
    if (!options.keep) await folder.remove();
    tell('demo', options.keep ? `everything is stopped; kept: ${folder.root}` : 'everything is stopped and removed');
    run.screen.answer({ ...told, seconds: seconds(), ...(options.keep && { data: folder.root }) });
  } catch (error) {
    run.screen.say(`The demonstration failed. Its folder is kept, with the logs in ${join(folder.data, 'logs')}`);
    throw late.aborted ? new FarmError('timeout', `It took longer than ${longest / 1000} s.`) : error;
  }
}

async function playOn(run: CommandRun, options: DemoOptions, folder: DemoFolder, tell: Stage['tell']): Promise<object> {
  const { screen, surroundings } = run;
  const { fault } = options;
  tell('demo', fault === undefined ? 'two workers, a team of four, one Task, no keys, no model' : fault.about);
  if (fault?.leaseMs !== undefined)
    tell('demo', `leases are ${fault.leaseMs / 1000} s here instead of 30 s, so that you need not wait`);
  const watch = new WorkerWatch();
  const farm = await LocalFarm.open({
    data: folder.data,
    env: {},
    port: 0,
    leaseMs: fault?.leaseMs,
    again: false,
    say: (line) => tell('demo', line),
  });
  const workerIds: string[] = [];
  try {
    tell('demo', `PostgreSQL, NATS and a controller run at ${farm.url}`);
    for (const name of workerNames) {
      const env = fault?.workerEnv?.(folder.data, name) ?? {};
      const onEvent: Parameters<LocalFarm['addWorker']>[0]['onEvent'] = (event) => {
        watch.add(name, event);
        const line = workerEventLine(event);
        const member = watch.memberOf(event.job);
        if (line !== undefined) tell(member === undefined ? name : `${name} ${member}`, line);
      };
      const { workerId, process } = await farm.addWorker({ name, slots: 1, env, onEvent });
      workerIds.push(workerId);
      tell(name, `joined with a ticket as ${workerId}, process ${process.pid}`);
    }
    const stage: Stage = {
      farm,
      client: farm.client,
      screen,
      watch,
      data: folder.data,
      library: folder.library,
      signal: surroundings.signal,
      tell,
    };
    const told = await doTask(run, stage, folder, options);
    await farm.stop();
    await requireNothingLeft(farm, folder, workerIds, surroundings.signal);
    return { ...told, workers: workerIds };
  } catch (error) {
    // Nobody waits for a drain of what has failed already.
    farm.endAtOnce();
    await farm.stop();
    throw error;
  }
}

async function doTask(run: CommandRun, stage: Stage, folder: DemoFolder, { fault, ask }: DemoOptions): Promise<object> {
  const { client, tell, signal } = stage;
  await makeLibrary(folder.library);
  tell('demo', `a git repository with a failing test: ${folder.library}`);
  const document = await workflowFor(fault);
  const imported = await client.call(workflowImport, { document }, { confirm: true });
  if (!imported.accepted) throw new FarmError('invalid_workflow', 'The workflow of the demonstration was refused.');
  tell('demo', `workflow ${imported.workflow_id} is published, revision ${imported.revision_no}`);
  const source = await sendCheckout(run, client, folder.library);
  const { task_id } = await client.call(
    taskStart,
    { workflow_id: imported.workflow_id, prompt, source, verify: 'node --test' },
    { idempotencyKey: randomUUID() },
  );
  tell('demo', `Task ${task_id} is started`);
  const over = new AbortController();
  const record = new TeamRecord(tell);
  const asked = Promise.withResolvers<never>();
  const ends = followEvents({
    client,
    taskId: task_id,
    signal,
    onEvent: (event) => {
      record.add(event);
      if (event.type === 'human_request_opened')
        answerRequest(stage, task_id, ask ? run : undefined).catch(asked.reject);
    },
  });
  const struck =
    fault === undefined ? undefined : strikeInTheMiddle(stage, fault, AbortSignal.any([signal, over.signal]));
  const view = await Promise.race([ends, failureOnly(struck), asked.promise]);
  over.abort(new FarmError('internal', 'The Task was over before the fault could strike.'));
  const victim = await struck;
  const report = fault === undefined || victim === undefined ? {} : await fault.aftermath?.(stage, victim);
  return await tellResult(run, stage, folder, { view, record, fault, victim, report: report ?? {} });
}

/** Whoever is about to lose its machine waits for that, however long a busy one takes to strike; whoever takes over does not wait. */
async function workflowFor(fault: Fault | undefined): Promise<string> {
  const document = await readFile(packageFile('apps/cli/src/commands/demo/workflow.yaml'), 'utf8');
  return fault !== undefined && fault.epochs > 1
    ? document.replace('wait: {seconds: 3}', 'wait: {seconds: 120}')
    : document;
}

/** Settles only with the failure of `promise`, so that it can run beside what is awaited. */
function failureOnly(promise: Promise<unknown> | undefined): Promise<never> {
  return new Promise((_resolve, reject) => {
    promise?.catch(reject);
  });
}

async function strikeInTheMiddle(stage: Stage, fault: Fault, signal: AbortSignal): Promise<Session> {
  const { watch, farm } = stage;
  const at = await watch.until(
    ({ event, job, ...facts }) => event === 'step' && job !== undefined && JSON.stringify(facts).includes(middle),
    signal,
  );
  const victim = {
    worker: at.worker,
    workerId: farm.worker(at.worker).workerId,
    job: at.job ?? '',
    epoch: at.epoch ?? 1,
  };
  await fault.strike(stage, victim);
  return victim;
}

/** The promise "nothing left behind", looked at: our processes by their marks, agents by theirs, anything by the folder. */
async function requireNothingLeft(
  farm: LocalFarm,
  folder: DemoFolder,
  workerIds: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const texts = [folder.root, ...workerIds.map((id) => `LONGSHORE_WORKER=${id}`)];
  // what a program has started may end a moment after it
  for (const text of texts) await untilNone([text], signal);
  const alive = farm.marks.filter(isAlive).map(({ pid }) => pid);
  const seen = (await Promise.all(texts.map((text) => processesWith([text])))).flat().map(({ pid }) => pid);
  const left = [...new Set([...alive, ...seen])];
  if (left.length > 0) throw new FarmError('internal', `These processes are still there: ${left.join(', ')}.`);
}
