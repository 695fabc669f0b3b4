import type { Machine } from '#jobs';
import { type Machine as AccountMachine, providerAskedFor } from '../account/choose-account.js';
import { whyUnusable } from '../account/why-unusable.js';
import type { TeamParts } from '../parts.js';
import { attentionSql } from '../sql/teams.js';
import { lockTaskOnly } from './lock-task.js';
import { openAttention } from './open-attention.js';

const kind = 'no_machine';
const kinds: ReadonlySet<string> = new Set(['dispatch', 'command_run', 'snapshot']);

/** A job that no live worker may take calls somebody, naming what is missing; when one may, the call is taken back. */
export async function noteMissingMachines(parts: TeamParts, live: readonly Machine[]): Promise<void> {
  const stranded = await parts.queue().waitingWithoutMachine(parts.database, live);
  const open = await parts.database.all(attentionSql.openJobs, { kind });
  const ours = stranded.flatMap((job) =>
    kinds.has(job.kind) && job.scope !== null ? [{ ...job, scope: job.scope }] : [],
  );
  const machines = ours.length === 0 ? [] : ((await parts.machines?.(parts.database)) ?? []);
  // Each on its own: many at once in one transaction would lock in an order of their own, against other controllers.
  for (const { job } of open) {
    if (!ours.some((waiting) => waiting.job === job)) await parts.database.run(attentionSql.closeOfJob, { job, kind });
  }
  for (const { job, scope, missing } of ours) {
    const summary = `No machine that is here may run this. Missing: ${missing.map((lack) => told(lack, machines)).join('; ')}.`;
    if (open.some((item) => item.job === job && item.summary === summary)) continue;
    await parts.database.transaction(async (tx) => {
      await lockTaskOnly(tx, scope);
      // Claimed, held or ended while the Task was waited for: nobody is called any more.
      if ((await parts.queue().find(tx, job))?.state !== 'queued') return;
      await openAttention(parts, tx, { task: scope, job, kind, summary });
    });
  }
}

/** A provider that no account is there for is told by its own name; an account that is there and can not be used with its reason. */
function told(lack: string, machines: readonly AccountMachine[]): string {
  if (!lack.startsWith(account)) return lack;
  const name = lack.slice(account.length);
  const provider = providerAskedFor(name);
  if (provider === undefined) return `${lack}${whyUnusable(machines, (offer) => offer.name === name)}`;
  const why = whyUnusable(machines, (offer) => offer.provider === provider);
  return `provider ${provider}${why || ' (an account of it that anybody may use)'}`;
}

const account = 'account ';
