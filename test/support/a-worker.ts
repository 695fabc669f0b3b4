import { join, resolve } from 'node:path';
import { afterEach } from '@jest/globals';
import { endProcess, type ProcessMark } from '../../apps/cli/src/services/process-mark.js';
import { buildOnce } from './build.js';
import { spawnTracked, type TrackedProcess } from './processes.js';
import type { StandInController } from './stand-in-controller.js';
import { tempDir } from './temp-dir.js';
import { waitUntil } from './wait-until.js';

const root = resolve(import.meta.dirname, '../..');

const ofThisTest: ProcessMark[] = [];

// A worker that has done its test would go on to beat and to claim beside the next ones.
afterEach(async () => {
  await Promise.all(ofThisTest.splice(0).map((mark) => endProcess(mark, [['SIGKILL', 5_000]])));
});

type EventLine = Readonly<Record<string, unknown>>;

export interface EventsSaid {
  /** Its lines so far, by event. */
  events(name?: string): readonly EventLine[];
  /** Waits for an event. */
  until(name: string, fits?: (event: EventLine) => boolean): Promise<EventLine>;
}

export interface TestWorker extends EventsSaid {
  readonly process: TrackedProcess;
  readonly home: string;
  /** What it was told at its start. */
  readonly ticket: string;
  /** What it says of one job, whatever else it has run. */
  of(job: { readonly id: string }): EventsSaid;
}

/**
 * A real worker process against the farm, until the end of the test, or of the file; with the `home` of another it is the next boot
 * of that one.
 */
export async function aWorker(
  farm: StandInController,
  options: {
    readonly home?: string;
    readonly slots?: number;
    readonly env?: Readonly<Record<string, string>>;
    readonly ready?: boolean;
    readonly ticket?: string;
    readonly args?: readonly string[];
    readonly until?: 'test' | 'file';
    /** A program that starts the worker in its own place, with its arguments. */
    readonly within?: readonly [string, ...string[]];
  } = {},
): Promise<TestWorker> {
  await buildOnce();
  const home = options.home ?? tempDir('worker');
  const ticket = options.ticket ?? farm.ticket;
  const [program, ...programArgs] = [
    ...(options.within ?? []),
    join(root, 'node_modules/.bin/node'),
    join(root, 'dist/worker.js'),
    ...(options.args ?? []),
  ];
  const process_ = await spawnTracked(program ?? '', programArgs, {
    cwd: root,
    env: {
      PATH: process.env.PATH ?? '',
      HOME: home,
      LONGSHORE_WORKER_HOME: home,
      LONGSHORE_URL: farm.url,
      LONGSHORE_WORKER_SLOTS: String(options.slots ?? 1),
      LONGSHORE_LOG_LEVEL: 'debug',
      ...options.env,
    },
    input: `${ticket}\n`,
  });
  if (options.until !== 'file') ofThisTest.push(process_.mark);
  const lines = linesOf(process_);
  if (options.ready !== false) {
    await waitUntil(() => lines().some((line) => line.ready === true), {
      within: 50_000,
      what: `the worker is ready; it said ${process_.stderr()}`,
    });
  }
  const of = (job: { readonly id: string }) => saidBy(() => lines().filter((line) => line.job === job.id));
  return { process: process_, home, ticket, of, ...saidBy(lines) };
}

function saidBy(lines: () => readonly EventLine[]): EventsSaid {
  const events = (name?: string) => lines().filter((line) => name === undefined || line.event === name);
  return {
    events,
    until: (name, fits = () => true) =>
      waitUntil(() => events(name).find(fits), { within: 50_000, what: `the worker says ${name}` }),
  };
}

/** Reads each line once: a worker that lives as long as its file says many. */
function linesOf(process_: TrackedProcess): () => readonly EventLine[] {
  const read: EventLine[] = [];
  let from = 0;
  return () => {
    const said = process_.stdout();
    const to = said.lastIndexOf('\n') + 1;
    for (const line of said.slice(from, to).split('\n')) if (line.startsWith('{')) read.push(JSON.parse(line));
    from = to;
    return read;
  };
}
