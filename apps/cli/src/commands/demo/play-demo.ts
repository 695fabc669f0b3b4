import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FarmError, queueList, type TaskView, taskStart, workflowImport } from '#contracts';
import { LocalFarm } from '../../farm/local-farm.js';
import { packageFile } from '../../farm/package-file.js';
import { processesWith } from '../../farm/process-scan.js';
import { isAlive } from '../../services/process-mark.js';
import type { CommandRun } from '../frame.js';
import { drawResult } from '../task/draw-task.js';
import { followEvents } from '../task/follow-task.js';
import { checkOut } from '../task/task-checkout.js';
import { sendCheckout } from '../task/task-start.js';
import { workerEventLine } from '../worker-events.js';
import { type DemoFolder, makeDemoFolder } from './demo-folder.js';
import { gitIn, makeLibrary, testPassesAt } from './library.js';
import type { Fault, FaultReport, Session, Stage } from './stage.js';
import { WorkerWatch } from './worker-watch.js';

export interface DemoOptions {
  readonly fault: Fault | undefined;
  readonly keep: boolean;
}

/** Far more than any of them takes: what is not over by then will not end by itself. */
const longestMs = 180_000;
const workerNames = ['north', 'south'];
const prompt = `Mend the slug library: its own test fails.

Find out why, mend the code (the test is right), and note the change in CHANGELOG.md.`;
/** The words of the script after which a fault strikes: the agent is in the middle of its work. */
const middle = 'I think it over';

/** Plays the demonstration; throws where anything did not go as promised, and then keeps the folder for a look. */
export async function playDemo(run: CommandRun, options: DemoOptions): Promise<void> {
  const began = performance.now();
  const late = AbortSignal.timeout(longestMs);
  const signal = AbortSignal.any([run.surroundings.signal, late]);
  const folder = await makeDemoFolder(run.data);
  const seconds = () => Math.round((performance.now() - began) / 100) / 10;
  const { tint } = run.screen;
  const tell = (who: string, line: string) =>
    run.screen.say(`${tint.dim(seconds().toFixed(1).padStart(5))}  ${tint.cyan(who.padEnd(10))}  ${line}`);
  try {
    const told = await playOn({ ...run, surroundings: { ...run.surroundings, signal } }, options, folder, tell);
    if (!options.keep) await folder.remove();
    tell('demo', options.keep ? `everything is stopped; kept: ${folder.root}` : 'everything is stopped and removed');
    run.screen.answer({ ...told, seconds: seconds(), ...(options.keep && { data: folder.root }) });
  } catch (error) {
    run.screen.say(`The demonstration failed. Its folder is kept, with the logs in ${join(folder.data, 'logs')}`);
    throw late.aborted ? new FarmError('timeout', `It took longer than ${longestMs / 1000} s.`) : error;
  }
}

async function playOn(
  run: CommandRun,
  { fault }: DemoOptions,
  folder: DemoFolder,
  tell: Stage['tell'],
): Promise<object> {
  const { screen, surroundings } = run;
  tell('demo', fault === undefined ? 'two workers, one Task, no keys, no model' : fault.about);
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
        if (line !== undefined) tell(name, line);
      };
      const { workerId, process } = await farm.addWorker({ name, slots: 2, env, onEvent });
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
    const told = await doTask(run, stage, folder, fault);
    await farm.stop();
    await requireNothingLeft(farm, folder, workerIds);
    return { ...told, workers: workerIds };
  } catch (error) {
    // Nobody waits for a drain of what has failed already.
    farm.endAtOnce();
    await farm.stop();
    throw error;
  }
}

async function doTask(run: CommandRun, stage: Stage, folder: DemoFolder, fault: Fault | undefined): Promise<object> {
  const { client, tell, signal } = stage;
  await makeLibrary(folder.library);
  tell('demo', `a git repository with a failing test: ${folder.library}`);
  const document = await readFile(packageFile('apps/cli/src/commands/demo/workflow.yaml'), 'utf8');
  const imported = await client.call(workflowImport, { document }, { confirm: true });
  if (!imported.accepted) throw new FarmError('invalid_workflow', 'The workflow of the demonstration was refused.');
  tell('demo', `workflow ${imported.workflow_id} is published, revision ${imported.revision_no}`);
  const source = await sendCheckout(run, client, folder.library);
  const { task_id } = await client.call(
    taskStart,
    { workflow_id: imported.workflow_id, prompt, source },
    { idempotencyKey: randomUUID() },
  );
  tell('demo', `Task ${task_id} is started`);
  const over = new AbortController();
  const ends = followEvents({ client, taskId: task_id, signal, onEvent: () => undefined });
  const struck =
    fault === undefined ? undefined : strikeInTheMiddle(stage, fault, AbortSignal.any([signal, over.signal]));
  const view = await Promise.race([ends, failureOnly(struck)]);
  over.abort(new FarmError('internal', 'The Task was over before the fault could strike.'));
  const victim = await struck;
  const report = fault === undefined || victim === undefined ? {} : await fault.aftermath?.(stage, victim);
  return await tellResult(run, stage, folder, { view, fault, victim, report: report ?? {} });
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

interface Ended {
  readonly view: TaskView;
  readonly fault: Fault | undefined;
  readonly victim: Session | undefined;
  readonly report: FaultReport;
}

/** Shows the Result and answers it for scripts; throws where the record does not say what was promised. */
async function tellResult(run: CommandRun, stage: Stage, folder: DemoFolder, ended: Ended): Promise<object> {
  const { client, tell } = stage;
  const { view, fault, victim, report } = ended;
  const { screen } = run;
  const { result, task_id, status } = view;
  const { jobs } = await client.call(queueList, { task_id, limit: 100 });
  const leases = jobs.flatMap((job) => job.leases);
  const epochs = Math.max(0, ...leases.map(({ epoch }) => epoch));
  const finishedBy = leases.find((lease) => lease.epoch === epochs)?.worker_id;
  screen.show(`\n${drawResult(view, screen.paint)}`);
  if (result === null || result.branch === null || result.commit === null || result.outcome !== 'green') {
    throw new FarmError('internal', 'The Task did not end green with a branch.');
  }
  if (report.killed_worker !== undefined && report.killed_worker === finishedBy) {
    throw new FarmError('internal', 'The killed worker finished the job.');
  }
  if (epochs !== (fault?.epochs ?? 1)) throw new FarmError('internal', `The job ended at epoch ${epochs}.`);
  if (victim !== undefined && epochs === victim.epoch && finishedBy !== victim.workerId) {
    throw new FarmError('internal', 'The job changed its worker without a new epoch.');
  }
  const checkedOut = await checkOut(client, view, { dir: folder.library, switchTo: false });
  screen.show(
    `\n${screen.paint.bold('task checkout')} has brought the branch into the library. The changes (with --keep the repository stays):\n\n  ${checkedOut.diff}\n`,
  );
  screen.show(await gitIn(folder.library, ['diff', '--stat', `main...${checkedOut.branch}`]));
  if (!(await testPassesAt(folder.library, result.commit, join(folder.root, 'clone')))) {
    throw new FarmError('internal', "The library's own test does not pass at the commit of the Result.");
  }
  tell('demo', "in a fresh clone the library's own test passes at that commit");
  const { summary, branch, commit, files_changed } = result;
  return {
    task_id,
    status,
    outcome: result.outcome,
    result: { summary, branch, commit, files_changed },
    jobs: jobs.length,
    epochs,
    ...report,
    ...(finishedBy !== undefined && { finished_by: finishedBy }),
  };
}

/** The promise "nothing left behind", looked at: our processes by their marks, agents by theirs, anything by the folder. */
async function requireNothingLeft(farm: LocalFarm, folder: DemoFolder, workerIds: readonly string[]): Promise<void> {
  const alive = farm.marks.filter(isAlive).map(({ pid }) => pid);
  const texts = [folder.root, ...workerIds.map((id) => `LONGSHORE_WORKER=${id}`)];
  const seen = (await Promise.all(texts.map((text) => processesWith([text])))).flat().map(({ pid }) => pid);
  const left = [...new Set([...alive, ...seen])];
  if (left.length > 0) throw new FarmError('internal', `These processes are still there: ${left.join(', ')}.`);
}
