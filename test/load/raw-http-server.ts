import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import pg from 'pg';
import { rawStatements } from './raw-sql.js';

/** What its three routes take between them. */
interface Asked {
  readonly worker: string;
  readonly id: string;
  readonly epoch: string;
  readonly lease: string;
  readonly result: unknown;
  readonly count: number;
}

// A program of its own, started by `raw-http.ts`: it tells its port, and ends with who started it.
const { BENCH_DATABASE: connectionString } = process.env;
const pool = new pg.Pool({ connectionString, max: Number(process.argv[2]) });
await pool.query(rawStatements.schema);

const server = createServer((request, response) => {
  void answer(request).then((body) => {
    const text = JSON.stringify(body);
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
    response.end(text);
  });
});

async function answer(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const asked: Asked = JSON.parse(Buffer.concat(chunks).toString());
  if (request.url === '/claim') return await claim(asked);
  if (request.url === '/complete') return await complete(asked);
  await pool.query(rawStatements.enqueue, [asked.count]);
  return {};
}

async function claim({ worker }: Asked): Promise<unknown> {
  const lease = randomUUID();
  const { rows } = await pool.query({ name: 'claim', text: rawStatements.claim, values: [lease, worker] });
  return rows[0] ? { ...rows[0], lease } : null;
}

async function complete({ result, id, epoch, lease, worker }: Asked): Promise<unknown> {
  const values = [JSON.stringify(result), id, epoch, lease, worker];
  const { rowCount } = await pool.query({ name: 'complete', text: rawStatements.complete, values });
  return { kept: rowCount === 1 };
}

server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.send?.({ port: typeof address === 'object' ? address?.port : undefined });
});
process.on('disconnect', () => process.exit(0));
