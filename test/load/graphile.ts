import { Logger, type Runner, run, runMigrations } from 'graphile-worker';
import pg from 'pg';
import { oneByOne, type System } from './system.js';

const quiet = new Logger(() => () => undefined);

/** graphile-worker as it comes, or with its local queue and batched completions. */
export async function graphile(url: string, connections: number, batched: boolean): Promise<System> {
  const pool = new pg.Pool({ connectionString: url, max: 4 });
  await runMigrations({ connectionString: url, logger: quiet });
  const enqueue = async (count: number, task = 'bench') => {
    await pool.query('select graphile_worker.add_job($2) from generate_series(1, $1::int)', [count, task]);
  };
  const start = (concurrency: number, task: string, onJob: () => void): Promise<Runner> =>
    run({
      connectionString: url,
      concurrency,
      maxPoolSize: connections,
      noHandleSignals: true,
      logger: quiet,
      taskList: { [task]: async () => onJob() },
      ...(batched && {
        preset: {
          worker: { localQueue: { size: concurrency + 1 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 },
        },
      }),
    });
  return {
    name: batched ? 'graphile-worker-batched' : 'graphile-worker',
    inFlight: [16, 256],
    database: url,
    enqueue,
    async work(count, inFlight) {
      let done = 0;
      let began = 0;
      const all = Promise.withResolvers<number>();
      // From the first job on: starting it is no part of its rate.
      const runner = await start(inFlight, 'bench', () => {
        began ||= performance.now();
        done += 1;
        if (done === count) all.resolve((performance.now() - began) / 1000);
      });
      const seconds = await all.promise;
      await runner.stop();
      return seconds;
    },
    async latency(count) {
      let held: (at: number) => void = () => undefined;
      const runner = await start(1, 'latency', () => held(performance.now()));
      const samples = await oneByOne(
        count,
        () => enqueue(1, 'latency'),
        () =>
          new Promise((resolve) => {
            held = resolve;
          }),
      );
      await runner.stop();
      return samples;
    },
    close: () => pool.end(),
  };
}
