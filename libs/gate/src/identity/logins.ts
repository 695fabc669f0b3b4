import { FarmError } from '#contracts';
import type { Database } from '#store';
import type { PersonRole } from '../principal.js';
import { type LoginRow, loginSql } from '../sql/login.js';
import type { Attempts } from './attempts.js';
import { hashPassword, isOutdated, isPassword } from './passwords.js';

export interface LoginAttempt {
  readonly name: string;
  readonly password: string;
  /** The one to have from now on; has been checked to be good enough. */
  readonly newPassword?: string | undefined;
  readonly address: string;
}

/** A person who has just shown their password. */
export interface LoggedIn {
  readonly id: string;
  readonly name: string;
  readonly role: PersonRole;
  /** What is made for them holds as long as this is their number. */
  readonly epoch: number;
}

/** Name and password. */
export class Logins {
  constructor(
    private readonly database: Database,
    private readonly attempts: Attempts,
  ) {}

  /**
   * Errors: FarmError unauthenticated, in the same words and after the same work for a name that is not there, one that is
   * disabled, one without a password and a wrong password; too_many_requests; password_change_required for a setup password
   * without a new one; invalid_input for a new one that is the old one.
   */
  async login({ name, password, newPassword, address }: LoginAttempt): Promise<LoggedIn> {
    const tried = [
      { what: 'name', of: name },
      { what: 'address', of: address },
    ] as const;
    await this.attempts.take(tried);
    const row = await this.database.first(loginSql.loginOf, { name });
    if (!(await isPassword(password, row?.hash)) || !row) throw wrong();
    await this.attempts.settle(tried);
    if (newPassword !== undefined) return await this.change(row, password, newPassword);
    if (row.setup)
      throw new FarmError('password_change_required', undefined, {
        hint: 'Log in again with this password and a new one.',
      });
    if (isOutdated(row.hash))
      await this.database.run(loginSql.rehashPassword, {
        person: row.id,
        old_hash: row.hash,
        hash: await hashPassword(password),
      });
    return { id: row.id, name: row.name, role: row.role, epoch: row.login_epoch };
  }

  /** All sessions of the person end with the old password. */
  private async change(row: LoginRow, password: string, newPassword: string): Promise<LoggedIn> {
    if (newPassword.normalize('NFKC') === password.normalize('NFKC') || newPassword === row.name)
      throw new FarmError('invalid_input', 'The new password is the old one, or the name', {
        fields: [{ path: '/new_password', rule: 'new' }],
      });
    const hash = await hashPassword(newPassword);
    return await this.database.transaction(async (tx) => {
      if (!(await tx.first(loginSql.changePassword, { person: row.id, old_hash: row.hash, hash }))) throw wrong();
      const ended = await tx.first(loginSql.endSessions, { person: row.id });
      tx.later(loginSql.note, { kind: 'login:password', door: 'ui', actor: row.id });
      return { id: row.id, name: row.name, role: row.role, epoch: ended?.login_epoch ?? row.login_epoch };
    });
  }
}

function wrong(): FarmError {
  return new FarmError('unauthenticated', 'The name or the password is wrong');
}
