import { accountList, accountResume } from '#contracts';
import { operation } from '../../operation.js';
import { accountViews } from './account-views.js';

export const accountListOperation = operation(
  accountList,
  { catalogue: 'operator', class: 'read', ceiling: 'on' },
  {
    async run(_input, _, { services }, tx) {
      const [workers, states] = await Promise.all([services.identity.workers.list(tx), services.queue.accounts(tx)]);
      return { accounts: [...accountViews(workers, states)] };
    },
  },
);

/** At worst its provider refuses once more. */
export const accountResumeOperation = operation(
  accountResume,
  { catalogue: 'admin', class: 'mutate', ceiling: 'never', consent: 'implied' },
  {
    async run({ account }, _, { services }, tx) {
      const resumed = await services.queue.resumeAccount(tx, account);
      if (resumed) tx.afterCommit(() => services.claims.wakeAll());
      return { account, resumed };
    },
  },
);
