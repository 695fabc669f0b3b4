import { spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { FarmError } from '#contracts';
import { sessionEnvironment } from '../session/session-environment.js';
import { loginFolder, pathIn, readWorkerFile } from './worker-file.js';

/** How each program logs itself in: in a terminal, at a browser. */
const logins = {
  claude: { program: 'claude', args: ['auth', 'login'], variable: 'CLAUDE_CONFIG_DIR' },
  codex: { program: 'codex', args: ['login'], variable: 'CODEX_HOME' },
} as const;

export type LoginProvider = keyof typeof logins;

export function isLoginProvider(name: string): name is LoginProvider {
  return name in logins;
}

interface LoginWish {
  readonly home: string;
  readonly provider: LoginProvider;
  /** Of worker.yaml; a new name gets a folder in the worker's home; without one the owner's own login. */
  readonly account?: string | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

interface LoggedIn {
  /** Where the login lies; absent: where the program keeps the owner's own. */
  readonly folder?: string;
  /** What worker.yaml needs so that the account is offered. */
  readonly entry?: string;
}

/**
 * The program's own login, in this terminal, with the account's folder: what it stores is its own affair.
 *
 * @throws FarmError `misconfigured`: no such account of the provider, a key in place of a login, or the program is not there or failed
 */
export async function logIn({ home, provider, account, environment }: LoginWish): Promise<LoggedIn> {
  const { program, args, variable } = logins[provider];
  const entry = account === undefined ? undefined : (await readWorkerFile(home)).accounts[account];
  if (entry !== undefined && (entry.provider !== provider || entry.key !== undefined))
    throw new FarmError('misconfigured', `The account ${account} is no login of ${provider}.`, {
      hint: 'Choose another name, or change its entry in worker.yaml.',
    });
  const folder =
    account === undefined
      ? undefined
      : entry?.login === undefined
        ? loginFolder(home, account)
        : pathIn(home, entry.login);
  if (folder !== undefined) await mkdir(folder, { recursive: true, mode: 0o700 });
  const child = spawn(entry?.program ?? program, args, {
    // our own stdout is for the answer
    stdio: ['inherit', process.stderr.fd, 'inherit'],
    env: { ...sessionEnvironment(environment), ...(folder === undefined ? {} : { [variable]: folder }) },
  });
  // `once` would throw the error of a program that is not there
  const code = await new Promise<number>((resolve) => {
    child.once('exit', (exit) => resolve(exit ?? 1));
    child.once('error', () => resolve(-1));
  });
  if (code === -1)
    throw new FarmError('misconfigured', `The program ${program} can not be started.`, {
      hint: 'Install it where it is found on the PATH, or name it with `program` of the account.',
    });
  if (code !== 0) throw new FarmError('misconfigured', `The login of ${program} ended with code ${code}.`);
  const missing = account !== undefined && entry?.login === undefined;
  return {
    ...(folder === undefined ? {} : { folder }),
    ...(missing ? { entry: `accounts:\n  ${account}: {provider: ${provider}, login: ${folder}}` } : {}),
  };
}
