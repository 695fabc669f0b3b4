import { join } from 'node:path';
import { openVault } from '#gate';
import { type Database, openDatabase, statement } from '#store';
import type { Vault } from '#teams';
import { appRole } from '../../apps/cli/src/services/postgres.js';
import { aDatabase } from '../support/database.js';
import { type Rewrite, rewriting } from '../support/rewriting.js';
import { tempDir } from '../support/temp-dir.js';
import { withClient } from '../support/test-run.js';
import type { Tally } from './tally.js';
import { watchOf } from './transitions.js';

/** What many seeds stand on, one after the other: a database that is watched, and a data folder. */
export interface Ground {
  /** The farm's own connections. */
  readonly database: Database;
  /** One of its own, for who looks from outside. */
  readonly outside: Database;
  readonly data: string;
  readonly vault: Vault;
  /** As it was before the first seed. */
  clean(): Promise<void>;
  /** What happened in the seed, from its rows. */
  count(tally: Tally): Promise<void>;
  close(): Promise<void>;
}

interface GroundOptions {
  /** A planted bug: changes statements of the farm on their way. */
  readonly rewrite?: Rewrite;
  /** As the owner of the tables: takes guards away that would hold a planted bug back. */
  readonly unguard?: string;
}

export async function openGround({ rewrite, unguard }: GroundOptions = {}): Promise<Ground> {
  const { appUrl, ownerUrl, name } = await aDatabase();
  await withClient(ownerUrl, async (owner) => {
    // Nothing here outlives the run; and what is small is planned once.
    await owner.query(`alter database ${name} set synchronous_commit = off`);
    await owner.query(`alter database ${name} set jit = off`);
    await owner.query(watchOf(appRole));
    if (unguard !== undefined) await owner.query(unguard);
  });
  const database = openDatabase({ url: appUrl, max: 6 });
  const outside = openDatabase({ url: appUrl, max: 1 });
  const owner = openDatabase({ url: ownerUrl, max: 1 });
  const data = tempDir('sim');
  return {
    database: rewrite ? rewriting(database, rewrite) : database,
    outside,
    data,
    vault: await openVault(join(data, 'keys')),
    async clean() {
      const tables = (await owner.all(written)).map((each) => each.name);
      if (tables.length > 0) await owner.run(statement('', `truncate ${tables.join(', ')} restart identity cascade`));
      await owner.run(stopTime);
    },
    async count(tally) {
      for (const { kind, name, count } of await outside.all(happened)) tally.count(kind, name, count);
    },
    async close() {
      await Promise.all([database.close(), outside.close(), owner.close()]);
    },
  };
}

/** All that a seed has written. */
const written = statement<{ name: string }>(
  'sim.written',
  `select quote_ident(relname) as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace and pg_relation_size(oid) > 0
     and relname not in ('migrations', 'farm', 'farm_clock', 'policy') and relname not like '%migration%'`,
);
/** Nobody ticks here: farm time stands still but for what the simulator lets pass (H3, D26). */
const stopTime = statement<unknown>(
  'sim.stop_time',
  `update farm_clock set ticked_at = clock_timestamp() - interval '1 h'`,
);

const happened = statement<{ kind: string; name: string; count: number }>(
  'sim.happened',
  `select 'Tasks' as kind, status || coalesce(' ' || outcome, '') as name, count(*) from task group by 2
   union all select 'Dispatches opened', reason, count(*) from dispatch group by 2
   union all select 'Dispatches closed', closed_reason, count(*) from dispatch where closed_at is not null group by 2
   union all select 'handovers', kind || coalesce(' ' || (body->'checkpoint'->>'outcome'), ''), count(*) from handover group by 2
   union all select 'questions', status, count(*) from human_request group by 2
   union all select 'commands', purpose || ' ' || state, count(*) from command_run group by 2
   union all select 'places in Waves', status || coalesce(' ' || outcome, '') || coalesce(', ' || (merge->>'outcome'), ''), count(*) from wave_member group by 2
   union all select 'leases ended', coalesce(ended_how, 'not'), count(*) from lease group by 2
   union all select 'jobs', kind || ' ' || state, count(*) from job group by 2
   union all select 'messages', coalesce(outcome, 'unheard'), count(*) from steer group by 2
   union all select 'facts', type, count(*) from task_event group by 2`,
);
