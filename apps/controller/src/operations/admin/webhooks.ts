import { webhookAdd, webhookList, webhookRemove, webhookTest } from '#contracts';
import { operation } from '../../operation.js';

/** URLs may open what is behind them: what a webhook is, only an admin sees. */
export const webhookListOperation = operation(
  webhookList,
  { catalogue: 'admin', class: 'read', ceiling: 'never' },
  { run: (_input, _, { services }, tx) => services.teams.webhooks.list(tx) },
);

/** It sends what happens here elsewhere, and links that answer for people: ceiling never. The secret is shown once (H41). */
export const webhookAddOperation = operation(
  webhookAdd,
  { catalogue: 'admin', class: 'mutate', ceiling: 'never', consent: 'implied', answer: 'secret' },
  {
    prepare: (input, { services }) => services.teams.webhooks.prepareAdd(input),
    run: (input, url, { services, principal }, tx) =>
      services.teams.webhooks.add(tx, { principal: principal.id }, input, url),
  },
);

/** The secret is gone with it: a person says that it is meant. */
export const webhookRemoveOperation = operation(
  webhookRemove,
  { catalogue: 'admin', class: 'mutate', ceiling: 'never', consent: 'ask' },
  {
    lock: ({ name }, { services }, tx) => services.teams.webhooks.lock(tx, name),
    preview: ({ name }, { services }, tx) => services.teams.webhooks.previewRemoval(tx, name),
    async run({ name }, _, { services }, tx) {
      await services.teams.webhooks.remove(tx, name);
      return { name, removed: true as const };
    },
  },
);

export const webhookTestOperation = operation(
  webhookTest,
  { catalogue: 'admin', class: 'mutate', ceiling: 'never', consent: 'implied', destructive: false },
  {
    prepare: ({ name }, { services, signal }) => services.teams.webhooks.test(name, signal),
    run: async ({ name }, status) => ({ name, delivered: true as const, status }),
  },
);
