import { PgBoss } from 'pg-boss';
import { drain, oneByOne, type System } from './system.js';

const queue = 'bench';

/** pg-boss as it comes, one job per call. */
export async function pgBoss(url: string, connections: number): Promise<System> {
  const boss = new PgBoss({ connectionString: url, max: connections });
  boss.on('error', () => undefined);
  await boss.start();
  await boss.createQueue(queue);
  return {
    name: 'pg-boss',
    inFlight: [16, 256],
    database: url,
    async enqueue(count) {
      for (let done = 0; done < count; done += 1000) {
        await boss.insert(
          queue,
          Array.from({ length: Math.min(1000, count - done) }, () => ({ data: {} })),
        );
      }
    },
    work: (count, inFlight) =>
      drain(count, inFlight, async () => {
        const [job] = await boss.fetch(queue);
        if (!job) return 0;
        await boss.complete(queue, job.id, { ok: true });
        return 1;
      }),
    async latency(count) {
      const idle = 'latency';
      await boss.createQueue(idle);
      let held: (at: number) => void = () => undefined;
      await boss.work(idle, { pollingIntervalSeconds: 0.5 }, async () => held(performance.now()));
      // It polls each half second: a dozen samples tell.
      const samples = await oneByOne(
        Math.min(count, 12),
        async () => void (await boss.send(idle, {})),
        () =>
          new Promise((resolve) => {
            held = resolve;
          }),
      );
      await boss.offWork(idle);
      return samples;
    },
    close: () => boss.stop({ graceful: false }),
  };
}
