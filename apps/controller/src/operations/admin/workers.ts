import { FarmError, limits, workerDrain, workerInvite, workerList, workerPause, workerResume } from '#contracts';
import type { Access } from '#gate';
import { operation } from '../../operation.js';
import { onlyPerson } from './person-of.js';

/** Machines are ruled by people with the role, and nothing of it is lost that can not be put back: no confirmation. */
const ruling: Access = { catalogue: 'admin', class: 'mutate', ceiling: 'never', consent: 'implied' };

export const workerListOperation = operation(
  workerList,
  { catalogue: 'operator', class: 'read', ceiling: 'off' },
  {
    async run(_input, _, { services }, tx) {
      return { workers: [...(await services.identity.workers.list(tx))] };
    },
  },
);

export const workerPauseOperation = operation(workerPause, ruling, {
  run: ({ worker_id, note }, _, { services }, tx) => services.identity.workers.pause(tx, worker_id, note),
});

export const workerResumeOperation = operation(workerResume, ruling, {
  run: ({ worker_id }, _, { services }, tx) => services.identity.workers.resume(tx, worker_id),
});

export const workerDrainOperation = operation(workerDrain, ruling, {
  run: ({ worker_id, note }, _, { services }, tx) => services.identity.workers.drain(tx, worker_id, note),
});

/** The ticket is shown once: no receipt keeps it (H41). */
export const workerInviteOperation = operation(
  workerInvite,
  { ...ruling, answer: 'secret' },
  {
    async run(invitation, _, { services, principal }, tx) {
      onlyPerson(principal);
      const { publicUrl } = services.address;
      if (publicUrl === undefined) throw new FarmError('unavailable', 'The controller does not listen yet');
      const ticket = await services.identity.invite(tx, invitation);
      return {
        ticket,
        expires_in_seconds: limits.joinTicketSeconds,
        command: `longshore worker --join ${publicUrl}`,
      };
    },
  },
);
