import type { Database } from '#store';
import { loginSql } from '../sql/login.js';
import { Attempts } from './attempts.js';
import { DeviceLogins } from './device-logins.js';
import { Logins } from './logins.js';
import { persons } from './persons.js';
import { ServiceTokens } from './service-tokens.js';
import { Sessions } from './sessions.js';

/** Everything about people: who they are, how they come in, what they were let in for. */
export interface People {
  readonly persons: typeof persons;
  readonly logins: Logins;
  readonly sessions: Sessions;
  readonly devices: DeviceLogins;
  readonly services: ServiceTokens;
  /** A text that only this farm can have made, for what a page carries. */
  seal(text: string): string;
  /** What is over goes. */
  sweep(): Promise<void>;
}

export function openPeople(database: Database, seal: (text: string) => string): People {
  const attempts = new Attempts(database, seal);
  const sessions = new Sessions(database, seal);
  return {
    persons,
    logins: new Logins(database, attempts),
    sessions,
    devices: new DeviceLogins(database, sessions, attempts, seal),
    services: new ServiceTokens(database),
    seal,
    async sweep() {
      await database.run(loginSql.sweepAttempts);
      await database.run(loginSql.sweepSessions);
      await database.run(loginSql.sweepDevices);
    },
  };
}
