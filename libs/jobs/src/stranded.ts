import { limits } from '#contracts';
import type { Queries } from '#store';
import { controllerPool } from './controller-pool.js';
import type { Machine } from './job.js';
import type { Stranded } from './queue.js';
import { sweepSql } from './sql/sweep.js';

interface Wanted {
  readonly kind: string;
  readonly pool: string;
  readonly labels: readonly string[];
  readonly account: string | null;
}

/**
 * Queued jobs that none of these machines may take, and what is missing (attention item `no_machine`). Classes are compared here,
 * jobs are read only of those that nobody fits, and where some machines are excluded.
 */
export async function waitingWithoutMachine(queries: Queries, live: readonly Machine[]): Promise<readonly Stranded[]> {
  const asked = (await queries.all(sweepSql.classes)).filter(({ pool }) => pool !== controllerPool);
  const classes = new Map(asked.map((row) => [row.class, row]));
  const fitting = new Map(
    [...classes].map(([name, wanted]) => [name, live.filter((machine) => fits(machine, wanted))]),
  );
  const none = [...fitting].filter(([, machines]) => machines.length === 0).map(([name]) => name);
  const some = [...fitting].filter(([, machines]) => machines.length > 0).map(([name]) => name);
  const limit = limits.pageMax;
  const unfit = await queries.all(sweepSql.queuedOf, { classes: none, limit });
  const excluded = await queries.all(sweepSql.excludedJobs, { classes: some, limit });
  return [
    ...unfit.map((job) => stranded(job, missing(live, classes.get(job.class)))),
    ...excluded
      .filter((job) => (fitting.get(job.class) ?? []).every((machine) => job.excluded.includes(machine.worker)))
      .map((job) =>
        stranded(job, [`a machine on which it has not failed yet${job.note === null ? '' : ` (last: ${job.note})`}`]),
      ),
  ].slice(0, limit);
}

function stranded(
  { id, kind, scope }: { readonly id: string; readonly kind: string; readonly scope: string | null },
  lacking: readonly string[],
): Stranded {
  return { job: id, kind, scope, missing: lacking };
}

function fits(machine: Machine, wanted: Wanted): boolean {
  return (
    machine.pool === wanted.pool &&
    wanted.labels.every((label) => machine.labels.includes(label)) &&
    (wanted.account === null || machine.accounts.includes(wanted.account)) &&
    (machine.kinds === undefined || machine.kinds.includes(wanted.kind))
  );
}

/** Said of the machine that comes nearest. */
function missing(live: readonly Machine[], wanted: Wanted | undefined): readonly string[] {
  if (!wanted) return [];
  const inPool = live.filter((machine) => machine.pool === wanted.pool);
  if (inPool.length === 0) return [`pool ${wanted.pool}`];
  const lacking = inPool.map((machine) => [
    ...wanted.labels.filter((label) => !machine.labels.includes(label)).map((label) => `label ${label}`),
    ...(wanted.account === null || machine.accounts.includes(wanted.account) ? [] : [`account ${wanted.account}`]),
    ...(machine.kinds === undefined || machine.kinds.includes(wanted.kind) ? [] : [`kind ${wanted.kind}`]),
  ]);
  return lacking.reduce((least, each) => (each.length < least.length ? each : least));
}
