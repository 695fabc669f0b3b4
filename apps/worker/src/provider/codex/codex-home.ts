import { closeSync, constants, openSync, rmSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { makePrivateFolder, readIfThere, writePrivateFile } from '../../private-file.js';
import { readFileBeneath } from '../../workspace/beneath.js';
import type { SessionRequest } from '../port.js';

/** Where OpenAI's models are asked. */
export const openaiUrl = 'https://api.openai.com/v1';

/** The folder in a session's state folder that is its CODEX_HOME. */
export const sessionHomeName = 'codex';

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
 *
 * @throws FarmError `misconfigured` where the agent put something else in the folder's place, such as a symlink
 */
export async function makeSessionHome({
  stateFolder,
  environment,
  account,
}: Pick<SessionRequest, 'stateFolder' | 'environment' | 'account'>): Promise<SessionHome> {
  const path = join(stateFolder, sessionHomeName);
  // a session that goes on finds what its agent left there
  await makePrivateFolder(path);
  const copy = join(path, loginName);
  await rm(copy, { recursive: true, force: true });
  const owned = account === undefined ? ownersHome(environment) : account.environment.CODEX_HOME;
  const login = owned === undefined ? undefined : join(owned, loginName);
  const lent = login === undefined ? undefined : await readIfThere(login);
  if (login === undefined || lent === undefined) return { path, loggedIn: false, giveBack: async () => undefined };
  await writeFile(copy, lent, { mode: 0o600, flag: 'wx' });
  const giveBack = () => giveLoginBack(login, stateFolder, lent).catch(() => undefined);
  return { path, loggedIn: true, giveBack };
}

/** Removes a file of the home while an agent may write there: whatever it put in the home's place, nothing elsewhere goes. */
export function removeFromHome(home: string, name: string): void {
  const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
  let folder: number | undefined;
  try {
    folder = openSync(home, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    rmSync(process.platform === 'linux' ? `/proc/self/fd/${folder}/${name}` : join(home, name), { force: true });
  } catch {
    // no folder or no file any more
  } finally {
    if (folder !== undefined) closeSync(folder);
  }
}

/**
 * Codex renews a login now and then, and the old one is worth nothing afterwards. The agent could write where it is read: only
 * the tokens of the same account come back, with a later time that has been, and only in the place of those that were lent.
 */
async function giveLoginBack(login: string, stateFolder: string, lent: string): Promise<void> {
  const renewed = await readFileBeneath(stateFolder, `${sessionHomeName}/${loginName}`, largestLogin);
  if (renewed === undefined || renewed === lent || (await readIfThere(login)) !== lent) return;
  const before = Lent.parse(JSON.parse(lent));
  const { tokens, last_refresh } = Renewed.parse(JSON.parse(renewed));
  const time = Date.parse(last_refresh);
  if (tokens.account_id !== before.tokens.account_id) return;
  if (!(time > Date.parse(before.last_refresh) && time <= Date.now())) return;
  const after = { ...before, last_refresh, tokens: { ...before.tokens, ...tokens } };
  await writePrivateFile(login, JSON.stringify(after));
}

const loginName = 'auth.json';
const largestLogin = 64 * 1024;

const Tokens = z.object({
  account_id: z.string().min(1),
  refresh_token: z.string().min(1),
  access_token: z.string().min(1).optional(),
  id_token: z.string().min(1).optional(),
});
/** What may come back; all else of a file is left out. */
const Renewed = z.object({ last_refresh: z.string(), tokens: Tokens });
const Lent = z.looseObject({ last_refresh: z.string(), tokens: Tokens.loose() });

/** Where the machine's owner is logged in. */
function ownersHome(environment: Readonly<Record<string, string | undefined>>): string {
  return environment.CODEX_HOME ?? join(environment.HOME ?? homedir(), '.codex');
}
