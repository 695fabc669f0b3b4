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

export interface TestWorker {
  readonly process: TrackedProcess;
  readonly home: string;
  /** Its lines so far, by event. */
  events(name?: string): readonly Readonly<Record<string, unknown>>[];
  /** Waits for an event. */
  until(
    name: string,
    fits?: (event: Readonly<Record<string, unknown>>) => boolean,
  ): Promise<Readonly<Record<string, unknown>>>;
}

/** A real worker process against the farm, until the end of the test; with the `home` of another it is the next boot of that one. */
export async function aWorker(
  farm: StandInController,
  options: {
    readonly home?: string;
    readonly slots?: number;
    readonly env?: Readonly<Record<string, string>>;
    readonly ready?: boolean;
    readonly ticket?: string;
    readonly args?: readonly string[];
    /** A program that starts the worker in its own place, with its arguments. */
    readonly within?: readonly [string, ...string[]];
  } = {},
): Promise<TestWorker> {
  await buildOnce();
  const home = options.home ?? tempDir('worker');
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
    input: `${options.ticket ?? farm.ticket}\n`,
  });
  ofThisTest.push(process_.mark);
  const lines = () =>
    process_
      .stdout()
      .split('\n')
      .flatMap((line): Record<string, unknown>[] => (line.startsWith('{') ? [JSON.parse(line)] : []));
  const events = (name?: string) => lines().filter((line) => name === undefined || line.event === name);
  const worker = {
    process: process_,
    home,
    events,
    until: (name: string, fits: (event: Readonly<Record<string, unknown>>) => boolean = () => true) =>
      waitUntil(() => events(name).find(fits), { within: 30_000, what: `the worker says ${name}` }),
  };
  if (options.ready !== false) {
    await waitUntil(() => lines().some((line) => line.ready === true), {
      within: 20_000,
      what: `the worker is ready; it said ${process_.stderr()}`,
    });
  }
  return worker;
}
