import type { AvailabilityWish, EnclosureNeeds } from '../port.js';
import { findProgram, foldersOfProgram } from '../program-files.js';
import { openaiUrl, sessionHomeName } from './codex-home.js';

/** For a login that lies in a folder: the model, and where the login renews itself. */
const loginHosts = ['chatgpt.com', 'auth.openai.com', 'api.openai.com'];

/** Codex inside a sandbox: its program, its login, and either a key that the proxy holds or the hosts of a login. */
export async function codexNeeds(
  { program = 'codex', account }: AvailabilityWish,
  environment: Readonly<Record<string, string>>,
): Promise<EnclosureNeeds> {
  const file = await findProgram(program, environment.PATH ?? '');
  const secrets = Object.keys(account?.secrets ?? {});
  return {
    readable: file === undefined ? [] : await foldersOfProgram(file),
    // its login is lent to each session in a folder of the session's own
    writable: [],
    state: [sessionHomeName],
    hosts: secrets.length > 0 ? [] : hostsOf(account?.upstream),
    keys: secrets.map((secret) => ({ secret, header: 'authorization', prefix: 'Bearer ', upstream: openaiUrl })),
  };
}

function hostsOf(base: string | undefined): readonly string[] {
  return base === undefined ? loginHosts : [new URL(base).host];
}
