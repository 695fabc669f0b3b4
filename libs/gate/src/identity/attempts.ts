import { FarmError } from '#contracts';
import type { Database, Queries } from '#store';
import { loginSql } from '../sql/login.js';
import { networkOf } from './network-of.js';

/** What is tried: the first few cost nothing, each after that twice the wait of the one before, up to a most. */
const rules = {
  /** Of one account. The wait is short enough that nobody can lock another out for long. */
  name: { free: 8, most_seconds: 60 },
  /** Of one address, over all names: many people may stand behind it. */
  address: { free: 40, most_seconds: 300 },
  /** User codes that one person enters. */
  code: { free: 10, most_seconds: 300 },
} as const;
type What = keyof typeof rules;

const forgetSeconds = 3_600;

export interface Tried {
  readonly what: What;
  readonly of: string;
}

/** Slows guessing down, over all controllers: rows, not memory. */
export class Attempts {
  constructor(
    private readonly database: Database,
    private readonly seal: (text: string) => string,
  ) {}

  /**
   * Counts an attempt, before it is made. Errors: FarmError too_many_requests with the time to wait; then none of them is
   * counted.
   */
  async take(attempts: readonly Tried[]): Promise<void> {
    await this.database.transaction(async (tx) => {
      // Always in one order, or two logins would wait for each other.
      for (const attempt of attempts.toSorted((a, b) => (a.what < b.what ? -1 : 1))) await this.takeOne(tx, attempt);
    });
  }

  /** It was right: a name starts anew, an address gets its one attempt back. */
  async settle(attempts: readonly Tried[]): Promise<void> {
    for (const attempt of attempts) {
      const key = this.keyOf(attempt);
      if (attempt.what === 'address')
        await this.database.run(loginSql.forgiveAttempt, { key, free: rules.address.free });
      else await this.database.run(loginSql.forgetAttempts, { key });
    }
  }

  private async takeOne(queries: Queries, attempt: Tried): Promise<void> {
    const key = this.keyOf(attempt);
    const taken = await queries.first(loginSql.takeAttempt, {
      key,
      forget_seconds: forgetSeconds,
      ...rules[attempt.what],
    });
    if (taken) return;
    const { seconds = 1 } = (await queries.first(loginSql.attemptWait, { key })) ?? {};
    const wait = Math.max(1, Math.ceil(seconds));
    throw new FarmError('too_many_requests', `Too many attempts: try again in ${wait} s`, {
      retryAfterMs: wait * 1000,
    });
  }

  /** What was typed as a name may be somebody's password: it is not kept. */
  private keyOf({ what, of }: Tried): string {
    return `${what}:${this.seal(`attempt\n${what}\n${what === 'address' ? networkOf(of) : of}`)}`;
  }
}
