import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { drain, type System } from './system.js';

const schema = `
  create table raw_job (
    id uuid primary key default gen_random_uuid(), seq bigint generated always as identity, state text not null default 'queued',
    priority integer not null default 0, epoch bigint not null default 0, lease_id uuid, holder text,
    lease_expires_at timestamptz, payload jsonb not null default '{}', result jsonb
  ) with (fillfactor = 70);
  create index raw_job_queued on raw_job (priority desc, seq) where state = 'queued'`;

const claim = `
  update raw_job set state = 'leased', epoch = epoch + 1, lease_id = $1, holder = $2,
    lease_expires_at = clock_timestamp() + interval '30 s'
  from (select id as head from raw_job where state = 'queued' order by priority desc, seq limit 1 for update skip locked) h
  where id = head returning id, epoch, payload`;

const complete = `
  update raw_job set state = 'done', result = $1, lease_expires_at = null
  where id = $2 and epoch = $3 and lease_id = $4 and holder = $5 and state = 'leased' and lease_expires_at > clock_timestamp()`;

const enqueue = 'insert into raw_job (priority) select 0 from generate_series(1, $1::int)';

export const rawStatements = { schema, claim, complete, enqueue };

/** The least that a fenced queue can do: one statement to claim, one to complete, each its own call and its own commit. */
export async function rawSql(url: string, connections: number): Promise<System> {
  const pool = new pg.Pool({ connectionString: url, max: connections });
  await pool.query(rawStatements.schema);
  return {
    name: 'raw-sql-fenced',
    inFlight: [16, 256],
    database: url,
    async enqueue(count) {
      await pool.query(rawStatements.enqueue, [count]);
    },
    work: (count, inFlight) =>
      drain(count, inFlight, async () => {
        const lease = randomUUID();
        const { rows } = await pool.query({ name: 'claim', text: rawStatements.claim, values: [lease, 'w_bench'] });
        const [job] = rows;
        if (!job) return 0;
        const values = ['{"ok":true}', job.id, job.epoch, lease, 'w_bench'];
        const { rowCount } = await pool.query({ name: 'complete', text: rawStatements.complete, values });
        return rowCount ?? 0;
      }),
    close: () => pool.end(),
  };
}
