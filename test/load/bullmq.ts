import { randomUUID } from 'node:crypto';
import { Queue, Worker } from 'bullmq';
import { execa } from 'execa';
import { freePort } from '../../apps/cli/src/services/ports.js';
import { drain, oneByOne, type System } from './system.js';

/** BullMQ beside, where a redis-server is on the PATH; its writes are on disk within a second, not at the answer. */
export async function bullmq(folder: string): Promise<System | undefined> {
  const found = await execa('redis-server', ['--version'], { reject: false });
  if (found.failed) return undefined;
  const port = await freePort();
  const server = execa(
    'redis-server',
    [
      '--port',
      String(port),
      '--bind',
      '127.0.0.1',
      '--dir',
      folder,
      '--appendonly',
      'yes',
      '--appendfsync',
      'everysec',
    ],
    { stdout: 'ignore', stderr: 'ignore', reject: false },
  );
  const connection = { host: '127.0.0.1', port, maxRetriesPerRequest: null };
  const queue = new Queue('bench', { connection });
  await queue.waitUntilReady();
  const byHand = new Worker('bench', null, { connection, autorun: false });
  await byHand.waitUntilReady();
  return {
    name: 'bullmq',
    inFlight: [16, 256],
    async enqueue(count) {
      for (let done = 0; done < count; done += 1000) {
        await queue.addBulk(Array.from({ length: Math.min(1000, count - done) }, () => ({ name: 'bench', data: {} })));
      }
    },
    work: (count, inFlight) =>
      drain(count, inFlight, async () => {
        const token = randomUUID();
        const job = await byHand.getNextJob(token, { block: false });
        if (!job) return 0;
        await job.moveToCompleted({ ok: true }, token, false);
        return 1;
      }),
    async latency(count) {
      const idle = new Queue('latency', { connection });
      let held: (at: number) => void = () => undefined;
      const worker = new Worker('latency', async () => held(performance.now()), { connection });
      await worker.waitUntilReady();
      const samples = await oneByOne(
        count,
        async () => void (await idle.add('bench', {})),
        () =>
          new Promise((resolve) => {
            held = resolve;
          }),
      );
      await worker.close();
      await idle.close();
      return samples;
    },
    async close() {
      await byHand.close();
      await queue.close();
      server.kill('SIGTERM');
      await server;
    },
  };
}
