import { join } from 'node:path';
import type { AvailabilityWish, EnclosureNeeds, ProviderKey } from '../port.js';
import { findProgram, foldersOfProgram, isThere } from '../program-files.js';

const upstream = 'https://api.anthropic.com';

/** How Claude Code sends which secret; another one goes into its environment. */
const keys: readonly ProviderKey[] = [
  { secret: 'ANTHROPIC_API_KEY', header: 'x-api-key', upstream },
  { secret: 'ANTHROPIC_AUTH_TOKEN', header: 'authorization', prefix: 'Bearer ', upstream },
  { secret: 'CLAUDE_CODE_OAUTH_TOKEN', header: 'authorization', prefix: 'Bearer ', upstream },
];

/** For a login that lies in a folder: the model, and where the login renews itself. */
const loginHosts = ['api.anthropic.com', 'console.anthropic.com', 'platform.claude.com', 'claude.ai'];

/** Claude Code inside a sandbox: its program, its login, and either a key that the proxy holds or the hosts of a login. */
export async function claudeNeeds(
  { program = 'claude', account }: AvailabilityWish,
  environment: Readonly<Record<string, string>>,
): Promise<EnclosureNeeds> {
  const file = await findProgram(program, environment.PATH ?? '');
  const hasKey = Object.keys(account?.secrets ?? {}).length > 0;
  const login = account?.environment.CLAUDE_CONFIG_DIR ?? (hasKey ? undefined : ownersConfig(environment));
  const held = keys.filter(({ secret }) => account?.secrets[secret] !== undefined);
  return {
    readable: file === undefined ? [] : await foldersOfProgram(file),
    writable: login !== undefined && (await isThere(login)) ? [login] : [],
    state: [ownConfig],
    hosts: held.length > 0 ? [] : hostsOf(account?.upstream),
    keys: held,
  };
}

/** Of a session with a key: where it keeps logins and sessions, in its state folder. */
export const ownConfig = 'claude';

/** Where the login of the machine's owner lies; inside a sandbox the home is another. */
export function ownersConfig({ HOME }: Readonly<Record<string, string>>): string | undefined {
  return HOME === undefined ? undefined : join(HOME, '.claude');
}

function hostsOf(base: string | undefined): readonly string[] {
  return base === undefined ? loginHosts : [new URL(base).host];
}
