import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';

/** What the embedded server needs before the first migration: the application's role and the database. Names are ours. */
export const serviceSql = {
  hasRole: 'select 1 from pg_roles where rolname = $1',
  hasDatabase: 'select 1 from pg_database where datname = $1',
  version: `select current_setting('server_version_num')::int as version`,
  dataDirectory: `select current_setting('data_directory') as folder`,
  /** The verifier stands in the statement, never the password: a failing statement is written to the server's log. */
  createRole: (role: string, password: string) => `create role ${role} login password '${scramVerifier(password)}'`,
  setPassword: (role: string, password: string) => `alter role ${role} login password '${scramVerifier(password)}'`,
  createDatabase: (database: string, owner: string) => `create database ${database} owner ${owner}`,
} as const;

const iterations = 4096;

/** RFC 5803 form of a SCRAM-SHA-256 secret, as PostgreSQL stores it. */
function scramVerifier(password: string): string {
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, iterations, 32, 'sha256');
  const key = (name: string) => createHmac('sha256', salted).update(name).digest();
  const storedKey = createHash('sha256').update(key('Client Key')).digest('base64');
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${storedKey}:${key('Server Key').toString('base64')}`;
}
