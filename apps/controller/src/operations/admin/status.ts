import { limits, status } from '#contracts';
import { readFarm } from '#store';
import { operation } from '../../operation.js';
import { version } from '../../version.js';
import { accountViews } from './account-views.js';

export const statusOperation = operation(
  status,
  { catalogue: 'operator', class: 'read', ceiling: 'on' },
  {
    async run(_input, _, { services }, tx) {
      const [farm, workers, jobs, tasks, accounts, attention] = await Promise.all([
        readFarm(tx),
        services.identity.workers.list(tx),
        services.queue.counts(tx),
        services.teams.tasks.counts(tx),
        services.queue.accounts(tx),
        services.teams.tasks.attention(tx, limits.pageMax),
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
        attention: [...attention],
      };
    },
  },
);
