import { keyList, keyRotate, type OutputOf } from '#contracts';
import type { Services } from '../../farm.js';
import { operation } from '../../operation.js';
import { onlyPerson } from './person-of.js';

export const keyListOperation = operation(
  keyList,
  { catalogue: 'admin', class: 'read', ceiling: 'never' },
  {
    async run(_input, _, { services }) {
      return viewOf(services);
    },
  },
);

export const keyRotateOperation = operation(
  keyRotate,
  { catalogue: 'admin', class: 'mutate', ceiling: 'never' },
  {
    async preview(_input, { services }) {
      const { current, next } = services.keys.signing.ring;
      const change = { id: 'signing key', before: { current }, after: { current: next, previous: current } };
      return { summary: 'Signs tokens with the next key; the current one goes on verifying', changes: [change] };
    },
    async run(_input, _, { services, principal }, tx) {
      onlyPerson(principal);
      await services.identity.rotateKeys(tx);
      return viewOf(services);
    },
  },
);

function viewOf({ keys, settings }: Services): OutputOf<typeof keyList> {
  const { current, next, previous, rotatedAt, rotatableAt } = keys.signing.ring;
  const { keyRotationDays } = settings;
  return {
    keys: [
      { kid: current, use: 'current' },
      { kid: next, use: 'next' },
      ...(previous === undefined ? [] : [{ kid: previous, use: 'previous' as const }]),
    ],
    rotated_at: rotatedAt.toISOString(),
    rotatable_at: rotatableAt.toISOString(),
    rotates_at:
      keyRotationDays === 0 ? null : new Date(rotatedAt.getTime() + keyRotationDays * 86_400_000).toISOString(),
  };
}
