import { expect, it } from '@jest/globals';
import { ProviderEvent } from './events.js';

/** One such name in a beat, and the farm would refuse the beat with all its leases. */
it.each(['a\0b', 'a\ud800', 'é'.repeat(300), ''])(
  'H13 takes no session by a name that the farm can not hold (%j)',
  (ref) => {
    expect(ProviderEvent.safeParse({ type: 'session', ref }).success).toBe(false);
  },
);
