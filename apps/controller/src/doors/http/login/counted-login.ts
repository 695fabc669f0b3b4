import { FarmError } from '#contracts';
import type { LoggedIn, LoginAttempt } from '#gate';
import type { Services } from '../../../farm.js';

/** Checks name and password. Errors: those of the gate's `Logins`. */
export type LogIn = (attempt: LoginAttempt) => Promise<LoggedIn>;

/** Says how logins end and from where, for whoever watches; never a name, which may be a mistyped password. */
export function countedLogin({ identity, metrics, log }: Services): LogIn {
  const counter = metrics.counter('longshore_logins_total', 'Logins by password, by outcome.');
  return async (attempt) => {
    try {
      const person = await identity.people.logins.login(attempt);
      counter.add({ outcome: 'ok' });
      return person;
    } catch (error) {
      const outcome = error instanceof FarmError ? error.code : 'internal';
      counter.add({ outcome });
      log.warn({ outcome, address: attempt.address }, 'a login was refused');
      throw error;
    }
  };
}
