import { randomBytes, timingSafeEqual } from 'node:crypto';
import { FarmError } from '#contracts';
import type { FarmKeys } from '../keys/farm-keys.js';

const livesMs = 60_000;

/** Short-lived texts of the controller's that a key signs: no clock of the caller counts (H15). Any controller reads them. */
export class Challenges {
  constructor(
    private readonly keys: Pick<FarmKeys, 'seal'>,
    private readonly now: () => number = Date.now,
  ) {}

  make(): string {
    const body = `${(this.now() + livesMs).toString(36)}.${randomBytes(16).toString('base64url')}`;
    return `${body}.${this.keys.seal(body)}`;
  }

  /** Errors: FarmError unauthenticated when it is not ours or too old. */
  check(challenge: string): void {
    const [expiry = '', random = '', seal = ''] = challenge.split('.');
    const expected = Buffer.from(this.keys.seal(`${expiry}.${random}`));
    const given = Buffer.from(seal);
    const isOurs = given.length === expected.length && timingSafeEqual(given, expected);
    if (isOurs && Number.parseInt(expiry, 36) > this.now()) return;
    throw new FarmError('unauthenticated', 'The challenge is too old or not of this farm', {
      hint: 'Ask for a new challenge and sign that.',
    });
  }
}
