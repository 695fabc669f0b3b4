import { createHash, randomBytes, randomInt } from 'node:crypto';
import { FarmError, limits, type OAuthErrorCode } from '#contracts';
import type { Database } from '#store';
import { type DeviceRow, loginSql, type PolledRow } from '../sql/login.js';
import type { Attempts } from './attempts.js';
import { networkOf } from './network-of.js';
import type { BrowserSession, Sessions } from './sessions.js';

export interface DeviceAsk {
  /** What the machine calls itself: shown to the person. */
  readonly client: string;
  readonly address: string;
  readonly publicKey: string;
}

export type DeviceOutcome =
  | { readonly kind: 'refused'; readonly error: OAuthErrorCode }
  | { readonly kind: 'logged_in'; readonly person: string; readonly session: string };

/** Letters that are hard to mix up and make no words (RFC 8628 §6.1): 34 bits, and few tries. */
const letters = 'BCDFGHJKLMNPQRSTVWXZ';

/** A command line is logged in by a person at a browser (RFC 8628). Rows: any controller may be polled. */
export class DeviceLogins {
  constructor(
    private readonly database: Database,
    private readonly sessions: Sessions,
    private readonly attempts: Attempts,
    private readonly seal: (text: string) => string,
  ) {}

  /** Errors: FarmError too_many_requests when the address has too many open. */
  async begin({ client, address, publicKey }: DeviceAsk): Promise<{ deviceCode: string; userCode: string }> {
    const deviceCode = randomBytes(32).toString('base64url');
    const userCode = Array.from({ length: 8 }, () => letters.charAt(randomInt(letters.length))).join('');
    const made = await this.database.first(loginSql.insertDevice, {
      hash: sha256(deviceCode),
      user_code: this.kept(userCode),
      client,
      address,
      network: networkOf(address),
      public_key: publicKey,
      interval_seconds: limits.devicePollSeconds,
      seconds: limits.deviceCodeSeconds,
      most: limits.deviceLoginsPerAddress,
    });
    if (!made)
      throw new FarmError('too_many_requests', 'This address has too many logins open', { retryAfterMs: 60_000 });
    return { deviceCode, userCode: `${userCode.slice(0, 4)}-${userCode.slice(4)}` };
  }

  /** What waits under this code; nothing for one that is unknown, decided or over. Errors: FarmError too_many_requests. */
  async look(userCode: string, { person }: BrowserSession): Promise<DeviceRow | undefined> {
    const tried = [{ what: 'code', of: person.id }] as const;
    await this.attempts.take(tried);
    const row = await this.database.first(loginSql.deviceOfCode, { user_code: this.kept(userCode) });
    if (row) await this.attempts.settle(tried);
    return row;
  }

  /** False for a code that is unknown, decided or over. Errors: FarmError too_many_requests. */
  async decide(userCode: string, { person, epoch }: BrowserSession, approved: boolean): Promise<boolean> {
    const tried = [{ what: 'code', of: person.id }] as const;
    await this.attempts.take(tried);
    const decided = await this.database.first(loginSql.decideDevice, {
      user_code: this.kept(userCode),
      person: person.id,
      login_epoch: epoch,
      approved,
    });
    if (decided) await this.attempts.settle(tried);
    return decided !== undefined;
  }

  /** What the device asks for again and again. A code is good for one session. */
  async poll(deviceCode: string): Promise<DeviceOutcome> {
    const hash = sha256(deviceCode);
    return await this.database.transaction(async (tx): Promise<DeviceOutcome> => {
      const polled = await tx.first(loginSql.pollDevice, { hash });
      const refused = refusalOf(polled);
      if (refused || !polled) return { kind: 'refused', error: refused ?? 'invalid_grant' };
      // Whoever approved may have been disabled, or have had a new password, since.
      const person = await tx.first(loginSql.personAt, { person: polled.person, login_epoch: polled.login_epoch });
      if (!person || polled.login_epoch === null) return { kind: 'refused', error: 'access_denied' };
      await tx.run(loginSql.takeDevice, { hash });
      const owner = { ...person, epoch: polled.login_epoch };
      const session = await this.sessions.openCli(tx, owner, polled.client, polled.public_key);
      return { kind: 'logged_in', person: person.id, session };
    });
  }

  /** As it is typed, with or without the hyphen; as it is kept, so that a copy of the rows opens nothing. */
  private kept(userCode: string): string {
    return this.seal(`user code\n${userCode.toUpperCase().replace(/[^A-Z]/g, '')}`);
  }
}

function refusalOf(polled: PolledRow | undefined): OAuthErrorCode | undefined {
  if (!polled || polled.taken) return 'invalid_grant';
  if (polled.expired) return 'expired_token';
  if (polled.approved === false) return 'access_denied';
  if (polled.approved === null) return polled.hasty ? 'slow_down' : 'authorization_pending';
  return undefined;
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
