import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { Pool } from 'undici';
import { z } from 'zod';
import { drain, type System } from './system.js';

const Ready = z.object({ port: z.int() });
const Claimed = z.object({ id: z.string(), epoch: z.string(), lease: z.string() });

/**
 * What the least whole path costs: the statements of `raw-sql-fenced` behind plain HTTP and JSON in a process of their own, without
 * token, gate, audit or anything else.
 */
export async function rawHttp(url: string, connections: number): Promise<System> {
  const child = fork(new URL('./raw-http-server.ts', import.meta.url), [String(connections)], {
    env: { ...process.env, BENCH_DATABASE: url },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const died = once(child, 'exit').then(() =>
    Promise.reject(new Error('the HTTP server of raw-sql-http ended at its start')),
  );
  const [ready] = await Promise.race([once(child, 'message'), died]);
  const { port } = Ready.parse(ready);
  const http = new Pool(`http://127.0.0.1:${port}`, { connections: 256, pipelining: 1 });
  const post = async (path: string, body: unknown): Promise<unknown> => {
    const answer = await http.request({
      method: 'POST',
      path,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return JSON.parse(await answer.body.text());
  };
  return {
    name: 'raw-sql-http',
    inFlight: [16, 256],
    database: url,
    pid: child.pid,
    enqueue: async (count) => void (await post('/enqueue', { count })),
    work: (count, inFlight) =>
      drain(count, inFlight, async () => {
        const claimed = await post('/claim', { worker: 'w_bench' });
        if (claimed === null) return 0;
        const { id, epoch, lease } = Claimed.parse(claimed);
        await post('/complete', { id, epoch, lease, worker: 'w_bench', result: { ok: true } });
        return 1;
      }),
    async close() {
      await http.close();
      await stop(child);
    },
  };
}

async function stop(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.disconnect();
  await ended;
}
