import { copyFile, mkdir, readFile, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { readIfThere, writePrivateFile } from '../../private-file.js';
import type { SessionRequest } from '../port.js';

/** Where OpenAI's models are asked. */
export const openaiUrl = 'https://api.openai.com/v1';

interface SessionHome {
  readonly path: string;
  /** The account is logged in; else it has a key, or none is needed. */
  readonly loggedIn: boolean;
  /** After the session: a login that Codex renewed goes back to its account. Never throws. */
  giveBack(): Promise<void>;
}

/**
 * A CODEX_HOME of this session alone, with a copy of the account's login: what an agent writes there (settings, hooks,
 * instructions) reaches neither another session nor the owner's own Codex, and no session reads another's transcript.
 */
export async function makeSessionHome({ stateFolder, environment, account }: SessionRequest): Promise<SessionHome> {
  const path = join(stateFolder, 'codex');
  await mkdir(path, { recursive: true, mode: 0o700 });
  const copy = join(path, 'auth.json');
  await rm(copy, { force: true });
  const owned = account === undefined ? ownersHome(environment) : account.environment.CODEX_HOME;
  const login = owned === undefined ? undefined : join(owned, 'auth.json');
  const lent = login === undefined ? undefined : await readIfThere(login);
  if (login === undefined || lent === undefined) return { path, loggedIn: false, giveBack: async () => undefined };
  await copyFile(login, copy);
  const giveBack = () => giveLoginBack(login, copy, lent).catch(() => undefined);
  return { path, loggedIn: true, giveBack };
}

/**
 * Codex renews a login now and then, and the old one is worth nothing afterwards. Only a later login of the same account is taken
 * from the session, where the agent could write, and only in the place of the one that was lent.
 */
async function giveLoginBack(login: string, copy: string, lent: string): Promise<void> {
  const renewed = await readFile(copy, 'utf8');
  if (renewed === lent || (await readIfThere(login)) !== lent) return;
  const [before, after] = [Login.parse(JSON.parse(lent)), Login.parse(JSON.parse(renewed))];
  const isSame = after.tokens.account_id === before.tokens.account_id;
  if (isSame && Date.parse(after.last_refresh) > Date.parse(before.last_refresh))
    await writePrivateFile(login, renewed);
}

const Login = z.looseObject({
  last_refresh: z.string(),
  tokens: z.looseObject({ account_id: z.string().min(1), refresh_token: z.string().min(1) }),
});

/** Where the machine's owner is logged in. */
function ownersHome(environment: Readonly<Record<string, string | undefined>>): string {
  return environment.CODEX_HOME ?? join(environment.HOME ?? homedir(), '.codex');
}
