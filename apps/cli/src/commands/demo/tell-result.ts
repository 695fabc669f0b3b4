import { join } from 'node:path';
import { FarmError, queueList, type TaskView } from '#contracts';
import type { CommandRun } from '../frame.js';
import { drawResult } from '../task/draw-task.js';
import { checkOut } from '../task/task-checkout.js';
import type { DemoFolder } from './demo-folder.js';
import { gitIn, testPassesAt } from './library.js';
import type { Fault, FaultReport, Session, Stage } from './stage.js';
import type { TeamRecord } from './team-record.js';

interface Ended {
  readonly view: TaskView;
  readonly record: TeamRecord;
  readonly fault: Fault | undefined;
  readonly victim: Session | undefined;
  readonly report: FaultReport;
}

/** Shows the Result and answers it for scripts; throws where the record does not say what was promised. */
export async function tellResult(run: CommandRun, stage: Stage, folder: DemoFolder, ended: Ended): Promise<object> {
  const { view, record, fault, victim, report } = ended;
  const { screen } = run;
  const { result, task_id, status } = view;
  screen.show(`\n${drawResult(view, screen.paint)}`);
  if (result === null || result.branch === null || result.commit === null || result.outcome !== 'green') {
    throw new FarmError('internal', 'The Task did not end green with a branch.');
  }
  if (result.verified !== true) throw new FarmError('internal', 'The Result is not verified.');
  const work = await readWork(stage, task_id, victim);
  if (report.killed_worker !== undefined && report.killed_worker === work.finished_by) {
    throw new FarmError('internal', 'The killed worker finished the job.');
  }
  if (work.epochs !== (fault?.epochs ?? 1)) throw new FarmError('internal', `The job ended at epoch ${work.epochs}.`);
  if (victim !== undefined && work.epochs === victim.epoch && work.finished_by !== victim.workerId) {
    throw new FarmError('internal', 'The job changed its worker without a new epoch.');
  }
  if (work.took_part.length < 2) throw new FarmError('internal', 'One worker did everything.');
  await showBranch(run, stage, folder, view, result.commit);
  const { summary, branch, commit, files_changed, verified } = result;
  return {
    task_id,
    status,
    outcome: result.outcome,
    result: { summary, branch, commit, files_changed },
    verified,
    waves: record.waves,
    merges: record.merges,
    commands: record.commands,
    human_requests: record.humanRequests,
    ...work,
    ...report,
  };
}

interface Work {
  readonly jobs: number;
  /** Of the job that met the fault, else the most that any job needed. */
  readonly epochs: number;
  /** Who finished the job that met the fault, else the last one. */
  readonly finished_by?: string;
  readonly took_part: readonly string[];
}

async function readWork({ client }: Stage, task_id: string, victim: Session | undefined): Promise<Work> {
  const { jobs } = await client.call(queueList, { task_id, limit: 100 });
  const leases = jobs.flatMap((job) => job.leases);
  const watched = jobs.find(({ id }) => id === victim?.job) ?? jobs[0];
  const last = watched?.leases.toSorted((one, other) => other.epoch - one.epoch)[0];
  const epochs = victim === undefined ? Math.max(0, ...leases.map(({ epoch }) => epoch)) : (last?.epoch ?? 0);
  return {
    jobs: jobs.length,
    epochs,
    ...(last !== undefined && { finished_by: last.worker_id }),
    took_part: [...new Set(leases.map(({ worker_id }) => worker_id))],
  };
}

async function showBranch(
  { screen }: CommandRun,
  { client, tell }: Stage,
  folder: DemoFolder,
  view: TaskView,
  commit: string,
): Promise<void> {
  const checkedOut = await checkOut(client, view, { dir: folder.library, switchTo: false });
  screen.show(
    `\n${screen.paint.bold('task checkout')} has brought the branch into the library. The changes (with --keep the repository stays):\n\n  ${checkedOut.diff}\n`,
  );
  screen.show(await gitIn(folder.library, ['diff', '--stat', `main...${checkedOut.branch}`]));
  if (!(await testPassesAt(folder.library, commit, join(folder.root, 'clone')))) {
    throw new FarmError('internal', "The library's own test does not pass at the commit of the Result.");
  }
  tell('demo', "in a fresh clone the library's own test passes at that commit");
}
