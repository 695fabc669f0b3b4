import { mkdir, rm, symlink } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { SessionRequest } from '../port.js';
import { isThere } from '../program-files.js';

/** Where OpenAI's models are asked. */
export const openaiUrl = 'https://api.openai.com/v1';

interface SessionHome {
  readonly path: string;
  /** The account is logged in; else it has a key, or none is needed. */
  readonly loggedIn: boolean;
}

/**
 * A CODEX_HOME of this session alone, with the account's login linked into it: what an agent writes there (settings, hooks,
 * instructions) reaches neither another session nor the owner's own Codex, and no session reads another's transcript. Codex
 * follows the link when it renews the login.
 */
export async function makeSessionHome({ stateFolder, environment, account }: SessionRequest): Promise<SessionHome> {
  const path = join(stateFolder, 'codex');
  await mkdir(path, { recursive: true, mode: 0o700 });
  const link = join(path, 'auth.json');
  await rm(link, { force: true });
  const owned = account === undefined ? ownersHome(environment) : account.environment.CODEX_HOME;
  if (owned === undefined || !(await isThere(join(owned, 'auth.json')))) return { path, loggedIn: false };
  await symlink(join(owned, 'auth.json'), link);
  return { path, loggedIn: true };
}

/** Where the machine's owner is logged in. */
export function ownersHome(environment: Readonly<Record<string, string | undefined>>): string {
  return environment.CODEX_HOME ?? join(environment.HOME ?? homedir(), '.codex');
}
