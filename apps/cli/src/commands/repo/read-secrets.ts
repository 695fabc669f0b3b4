import { password } from '@clack/prompts';
import { FarmError, type RepositoryCredential } from '#contracts';
import type { Surroundings } from '../../output/screen.js';
import { readNamedText } from '../read-document.js';

export interface SecretFlags {
  readonly tokenFile?: string;
  readonly username?: string;
  readonly sshKey?: string;
  /** False for `--no-credential`. */
  readonly credential?: boolean;
  readonly secretFile?: readonly string[];
}

/** What opens the origin; undefined when nothing was said. FarmError invalid_input. */
export async function readCredential(
  { tokenFile, username, sshKey, credential }: SecretFlags,
  surroundings: Surroundings,
): Promise<RepositoryCredential | undefined> {
  const said = [tokenFile !== undefined, sshKey !== undefined, credential === false].filter(Boolean).length;
  if (said > 1) throw new FarmError('invalid_input', '--token-file, --ssh-key and --no-credential exclude each other.');
  if (username !== undefined && tokenFile === undefined)
    throw new FarmError('invalid_input', '--username goes with --token-file.');
  if (credential === false) return { kind: 'none' };
  if (sshKey !== undefined) return { kind: 'ssh_key', private_key: await readNamedText(sshKey, surroundings) };
  if (tokenFile === undefined) return undefined;
  const token = tokenFile === 'prompt' ? await askToken(surroundings) : await readNamedText(tokenFile, surroundings);
  // A file written by an editor ends with a line end.
  return { kind: 'token', username: username ?? 'x-access-token', token: token.trim() };
}

/** `NAME=FILE` each; undefined when there is none. FarmError invalid_input. */
export async function readSecrets(
  pairs: readonly string[] | undefined,
  surroundings: Surroundings,
): Promise<Readonly<Record<string, string>> | undefined> {
  if (pairs === undefined) return undefined;
  const secrets: [string, string][] = [];
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    if (at < 1) throw new FarmError('invalid_input', '--secret-file takes NAME=FILE.');
    const text = await readNamedText(pair.slice(at + 1), surroundings);
    secrets.push([pair.slice(0, at), text.replace(/\r?\n$/, '')]);
  }
  return Object.fromEntries(secrets);
}

async function askToken({ stdin }: Surroundings): Promise<string> {
  if (stdin.isTTY !== true)
    throw new FarmError('invalid_input', 'Nobody is there to be asked for the token.', {
      hint: 'Give it by stdin (--token-file -) or by a file (--token-file FILE).',
    });
  const token = await password({ message: 'Token that may read the repository' });
  if (typeof token === 'string') return token;
  throw new FarmError('invalid_input', 'No token was given.');
}
