import { type ApprovalView, limits, status } from '#contracts';
import { listApprovals } from '#gate';
import { readFarm } from '#store';
import { operation } from '../../operation.js';
import { version } from '../../version.js';
import { accountViews } from './account-views.js';

export const statusOperation = operation(
  status,
  { catalogue: 'operator', class: 'read', ceiling: 'on' },
  {
    async run(_input, _, { services, door }, tx) {
      const [farm, workers, jobs, tasks, accounts, ofTasks, approvals] = await Promise.all([
        readFarm(tx),
        services.identity.workers.list(tx),
        services.queue.counts(tx),
        services.teams.tasks.counts(tx),
        services.queue.accounts(tx),
        services.teams.tasks.attention(tx, limits.pageMax),
        // What others have asked for names operations that an agent may not know of (A5.5).
        door === 'mcp' ? [] : listApprovals(tx, { state: 'pending', limit: limits.pageMax }),
      ]);
      const here = workers.filter(({ state }) => state !== 'silent' && state !== 'gone');
      return {
        version,
        farm_id: farm.id,
        farm_time: farm.farmAt.toISOString(),
        farm_time_behind_ms: Math.max(0, Math.round(farm.behindMs)),
        farm_time_runs: farm.ticking,
        nats: services.bell.connected ? ('connected' as const) : ('away' as const),
        workers: {
          live: here.length,
          total: workers.length,
          slots: here.reduce((sum, { slots }) => sum + slots, 0),
          busy: here.reduce((sum, { busy }) => sum + busy, 0),
        },
        jobs,
        tasks,
        accounts: [...accountViews(workers, accounts)],
        attention: [...approvals.map(attentionTo), ...ofTasks].slice(0, limits.pageMax),
      };
    },
  },
);

/** An agent waits for a person (A1.9). */
function attentionTo({ approval_id, agent_id, operation: name, summary }: ApprovalView) {
  const asks = `${agent_id ?? 'An assistant'} asks to run ${name}: ${summary}`;
  return { task_id: null, kind: 'approval', summary: `${asks} (longshore approval decide ${approval_id} approve)` };
}
