import { FarmError } from '#contracts';
import type { Access, Call } from '#gate';
import type { MemberCaller } from '#teams';
import type { Services } from '../../farm.js';
import { workerOf } from '../job/worker-of.js';

/** No call of a member waits for a confirmation, each is audited, and token and lease bound it. */
export const memberAccess: Access = { catalogue: 'member', class: 'protocol', ceiling: 'on', audit: 'always' };

/** A member is its lease: claims of the job token, subject and boot of the worker's own (H24). Nothing of it is in the input. */
export function memberOf(call: Call<Services>): MemberCaller {
  const { id: worker, boot } = workerOf(call);
  if (!call.job) throw new FarmError('stale_lease');
  const { job, epoch, lease_id } = call.job;
  if (call.callId === undefined) {
    throw new FarmError(
      'idempotency_key_invalid',
      'A member call needs an idempotency key: it is answered again under it.',
      {
        hint: 'The member door of the worker gives each call one.',
      },
    );
  }
  return { job, epoch, lease_id, worker, boot, callId: call.callId };
}
