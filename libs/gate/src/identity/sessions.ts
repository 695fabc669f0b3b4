import { createHash, randomBytes } from 'node:crypto';
import type { z } from 'zod';
import { FarmError, limits, newSessionId, type SessionView } from '#contracts';
import type { Database, Queries, Transaction } from '#store';
import type { PersonPrincipal } from '../principal.js';
import { loginSql, type SessionRow } from '../sql/login.js';
import type { LoggedIn } from './logins.js';

export interface BrowserSession {
  readonly person: PersonPrincipal & { readonly session: string };
  readonly epoch: number;
  readonly csrfToken: string;
  readonly expiresAt: Date;
}

const lastUse = { last_use_seconds: limits.lastUseSeconds };
const cookieText = /^[A-Za-z0-9_-]{43}$/;

/** Logins of people, as rows: any controller knows them, and none knows one that is over. */
export class Sessions {
  constructor(
    private readonly database: Database,
    private readonly seal: (text: string) => string,
  ) {}

  /** For a browser: the secret goes into its cookie and is kept as a hash only. */
  async openBrowser(person: LoggedIn, client: string): Promise<{ secret: string; session: BrowserSession }> {
    const secret = randomBytes(32).toString('base64url');
    const { id, expiresAt } = await this.database.transaction((tx) =>
      this.insert(tx, person, {
        kind: 'browser',
        secret_hash: sha256(secret),
        public_key: null,
        client: client.slice(0, 255),
        idle_seconds: limits.browserIdleSeconds,
        seconds: limits.browserSessionSeconds,
      }),
    );
    const { id: personId, name, role, epoch } = person;
    return {
      secret,
      session: {
        person: { kind: 'person', id: personId, name, role, session: id },
        epoch,
        csrfToken: this.csrfToken(secret),
        expiresAt,
      },
    };
  }

  /** For a command line, which signs challenges with its own key. */
  async openCli(tx: Transaction, person: LoggedIn, client: string, publicKey: string): Promise<string> {
    const { id } = await this.insert(tx, person, {
      kind: 'cli',
      secret_hash: null,
      public_key: publicKey,
      client,
      idle_seconds: limits.cliIdleSeconds,
      seconds: limits.cliSessionSeconds,
    });
    return id;
  }

  /** Whose cookie it is; nothing for one that is over or of nobody. */
  async ofCookie(secret: string): Promise<BrowserSession | undefined> {
    if (!cookieText.test(secret)) return undefined;
    const row = await this.database.first(loginSql.sessionOfSecret, { secret_hash: sha256(secret), ...lastUse });
    if (!row) return undefined;
    await this.touch(row);
    const { id, person, name, role, login_epoch: epoch, expires_at: expiresAt } = row;
    return {
      person: { kind: 'person', id: person, name, role, session: id },
      epoch,
      csrfToken: this.csrfToken(secret),
      expiresAt,
    };
  }

  /** A live login of this person. */
  async find(id: string, person: string): Promise<SessionRow | undefined> {
    const row = await this.database.first(loginSql.session, { id, person, ...lastUse });
    if (row) await this.touch(row);
    return row;
  }

  async list(queries: Queries, { id, session }: PersonPrincipal): Promise<z.output<typeof SessionView>[]> {
    const rows = await queries.all(loginSql.sessions, { person: id });
    return rows.map((row) => ({
      session_id: row.id,
      kind: row.kind,
      client: row.client,
      created_at: row.created_at.toISOString(),
      used_at: row.used_at.toISOString(),
      expires_at: row.expires_at.toISOString(),
      current: row.id === session,
    }));
  }

  /** Errors: FarmError not_found, also for another person's. */
  async end(queries: Queries, id: string, person: string): Promise<void> {
    if (await queries.first(loginSql.endSession, { id, person })) return;
    throw new FarmError('not_found', 'You have no such session', { hint: '`longshore session list` shows yours.' });
  }

  async close({ person }: BrowserSession): Promise<void> {
    await this.database.run(loginSql.endSession, { id: person.session, person: person.id });
  }

  /** Bound to the cookie: a page of another origin can read neither. */
  private csrfToken(secret: string): string {
    return this.seal(`csrf\n${secret}`);
  }

  private async touch({ id, stale }: SessionRow): Promise<void> {
    if (stale) await this.database.run(loginSql.touchSession, { id, ...lastUse });
  }

  private async insert(tx: Transaction, { id: person, epoch }: LoggedIn, row: Readonly<Record<string, unknown>>) {
    const id = newSessionId();
    const made = await tx.first(loginSql.insertSession, { id, person, login_epoch: epoch, ...row });
    if (!made) throw new FarmError('internal');
    tx.later(loginSql.trimSessions, { person, most: limits.sessionsPerPerson });
    tx.later(loginSql.note, { kind: 'login:session', door: row.kind === 'cli' ? 'cli' : 'ui', actor: person });
    return { id, expiresAt: made.expires_at };
  }
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
