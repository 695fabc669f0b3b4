import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { workerInvite } from '#contracts';
import type { FarmClient } from '../../apps/cli/src/client/farm-client.js';
import { openWithCredential } from '../../apps/cli/src/client/open-farm-client.js';
import { startController } from '../../apps/cli/src/farm/controller-process.js';
import { type RunningWorker, startWorker, type WorkerEvent } from '../../apps/cli/src/farm/worker-process.js';
import type { Services } from '../../apps/cli/src/services/services.js';

/** What a worker said, and when it was heard here, in milliseconds since 1970. */
export type Heard = WorkerEvent & { readonly at: number };

/** A controller that counts its statements, and workers as processes of their own. */
export interface TeamsFarm {
  readonly client: FarmClient;
  /** Told of each line that a worker says. */
  listen(hear: (heard: Heard) => void): void;
  /** Drains all, then answers what each call of an operation has sent to PostgreSQL. */
  stop(): Promise<ReadonlyMap<string, readonly number[]>>;
}

const Counted = z.object({ operation: z.string(), statements: z.int() });

export async function teamsFarm(
  data: string,
  services: Services,
  machines: { readonly workers: number; readonly slots: number },
): Promise<TeamsFarm> {
  const counted = join(data, 'statements.jsonl');
  const controller = await startController({
    data,
    services,
    port: 0,
    env: {
      LONGSHORE_CALLS_PER_MINUTE: '0',
      LONGSHORE_BENCH_STATEMENTS: counted,
      NODE_OPTIONS: `--import=${new URL('count-statements.mjs', import.meta.url).href}`,
    },
  });
  const client = await openWithCredential(join(data, 'credential.json'));
  const hearers: ((heard: Heard) => void)[] = [];
  const workers: RunningWorker[] = [];
  for (let n = 1; n <= machines.workers; n += 1) {
    const name = `bench-${n}`;
    const { ticket } = await client.call(workerInvite, { name, slots: machines.slots });
    const worker = await startWorker({
      name,
      ticket,
      slots: machines.slots,
      home: join(data, 'workers', name),
      url: controller.url,
      log: join(data, 'logs', `${name}.log`),
      env: { LONGSHORE_SANDBOX: 'none' },
      onEvent(event) {
        const at = performance.timeOrigin + performance.now();
        for (const hear of hearers) hear({ ...event, at });
      },
    });
    workers.push(worker);
  }
  return {
    client,
    listen: (hear) => void hearers.push(hear),
    async stop() {
      await Promise.all(workers.map((worker) => worker.process.stop(20_000)));
      await client.close();
      await controller.process.stop(10_000);
      return statementsIn(await readFile(counted, 'utf8'));
    },
  };
}

function statementsIn(lines: string): ReadonlyMap<string, readonly number[]> {
  const calls = lines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => Counted.parse(JSON.parse(line)));
  const grouped = Map.groupBy(calls, ({ operation }) => operation);
  return new Map([...grouped].map(([name, group]) => [name, group.map(({ statements }) => statements)]));
}
