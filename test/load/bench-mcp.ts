import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Pool } from 'undici';
import { serviceTokenCreate } from '#contracts';
import { LocalFarm } from '../../apps/cli/src/farm/local-farm.js';
import { legacy, modern } from '../support/mcp-messages.js';
import { percentile } from './longshore.js';
import { machine } from './machine.js';
import { say } from './say.js';

const { values: options } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    /** Calls of one client on one road that are counted, over all rounds. */
    calls: { type: 'string', default: '600' },
    /** Do not write docs/benchmarks-mcp.md. */
    dry: { type: 'boolean', default: false },
  },
});
const calls = Number(options.calls);
const rounds = 6;
const bar = 0.5;
const clientCounts = [1, 20] as const;

/** The same read by the same principal: a plain JSON route of the controller, and the tool in each era. */
const operation = 'repo_list';
const roads = ['plain', 'mcp_2026', 'mcp_2025'] as const;
type Road = (typeof roads)[number];

interface Row {
  readonly clients: number;
  readonly road: Road;
  readonly calls: number;
  readonly per_second: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
}

interface Sent {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

async function main(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'longshore-bench-'));
  const config = join(folder, 'longshore.toml');
  await writeFile(config, '[api]\nmcp_enabled = true\ncalls_per_minute = 0\n');
  const farm = await LocalFarm.open({ data: join(folder, 'data'), config, env: {}, port: 0, again: false, say });
  try {
    const sent = await requestsOf(farm);
    const rows: Row[] = [];
    for (const clients of clientCounts) rows.push(...(await measure(farm.url, clients, sent)));
    const ratios = { clients_1: ratioOf(rows, 1), clients_20: ratioOf(rows, 20) };
    const page = pageOf(rows, ratios);
    if (!options.dry) await writeFile(new URL('../../docs/benchmarks-mcp.md', import.meta.url), page);
    console.log(options.json ? JSON.stringify({ machine: machine(), rows, ratios }) : page);
  } finally {
    await farm.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function requestsOf(farm: LocalFarm): Promise<Readonly<Record<Road, Sent>>> {
  const [cli, mcp] = await Promise.all(
    (['cli', 'mcp'] as const).map((audience) =>
      farm.client.call(serviceTokenCreate, { name: `bench-${audience}`, audience }, { confirm: true }),
    ),
  );
  const common = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const tool = ({ headers, body }: ReturnType<typeof modern> | ReturnType<typeof legacy>): Sent => ({
    path: '/mcp',
    headers: { ...common, ...headers, authorization: `Bearer ${mcp?.token}` },
    body: JSON.stringify(body),
  });
  return {
    plain: {
      path: `/v1/operations/${operation}`,
      headers: { ...common, authorization: `Bearer ${cli?.token}` },
      body: JSON.stringify({ input: {} }),
    },
    mcp_2026: tool(modern('tools/call', { name: operation, arguments: {} })),
    mcp_2025: tool(legacy('tools/call', { name: operation, arguments: {} })),
  };
}

/** The roads take turns, so that what else the machine does meets each alike. */
async function measure(url: string, clients: number, sent: Readonly<Record<Road, Sent>>): Promise<readonly Row[]> {
  say(`${clients} at once: ${clients * calls} calls on each road`);
  const pool = new Pool(url, { connections: clients });
  const taken: Readonly<Record<Road, { times: number[]; seconds: number }>> = {
    plain: { times: [], seconds: 0 },
    mcp_2026: { times: [], seconds: 0 },
    mcp_2025: { times: [], seconds: 0 },
  };
  try {
    for (const road of roads) await run(pool, clients, 100, sent[road]);
    for (let round = 0; round < rounds; round += 1)
      for (const road of roads) {
        const begun = performance.now();
        taken[road].times.push(...(await run(pool, clients, Math.ceil(calls / rounds), sent[road])));
        taken[road].seconds += (performance.now() - begun) / 1000;
      }
  } finally {
    await pool.close();
  }
  return roads.map((road) => {
    const { times, seconds } = taken[road];
    const at = (share: number) => Number(percentile(times, share).toFixed(2));
    const per_second = Math.round(times.length / seconds);
    return { clients, road, calls: times.length, per_second, p50_ms: at(0.5), p99_ms: at(0.99) };
  });
}

/** Milliseconds of each call; each client makes one after the other. */
async function run(pool: Pool, clients: number, each: number, { path, headers, body }: Sent): Promise<number[]> {
  const times: number[] = [];
  const client = async (): Promise<void> => {
    for (let n = 0; n < each; n += 1) {
      const begun = performance.now();
      const answer = await pool.request({ path, method: 'POST', headers, body });
      const text = await answer.body.text();
      times.push(performance.now() - begun);
      if (answer.statusCode !== 200 || !text.includes('next_cursor'))
        throw new Error(`${path}: ${answer.statusCode} ${text}`);
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return times;
}

/** Of the slower era. */
function ratioOf(rows: readonly Row[], clients: number): number {
  const of = (road: Road) => rows.find((row) => row.clients === clients && row.road === road)?.per_second ?? 0;
  return Number((Math.min(of('mcp_2026'), of('mcp_2025')) / of('plain')).toFixed(2));
}

function pageOf(rows: readonly Row[], ratios: Readonly<Record<'clients_1' | 'clients_20', number>>): string {
  return `# tools/call, measured

Written by \`npm run bench:mcp\`; do not edit. One controller process answers the same read (\`${operation}\`) three ways: by its plain JSON
route, and as a tool to clients of both eras of MCP. Calls per second of clients that call one after the other, over kept connections.

Machine: ${machine()}.

| bar | measured | holds |
|---|---|---|
${Object.entries(ratios)
  .map(
    ([name, ratio]) => `| tools/call ≥ ${bar} × the plain route, ${name} | ${ratio} | ${ratio >= bar ? 'yes' : 'no'} |`,
  )
  .join('\n')}

| clients | road | calls | per second | p50 ms | p99 ms |
|---|---|---|---|---|---|
${rows.map((row) => `| ${row.clients} | ${row.road} | ${row.calls} | ${row.per_second} | ${row.p50_ms} | ${row.p99_ms} |`).join('\n')}
`;
}

await main();
