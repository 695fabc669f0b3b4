import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

/** Where the farm of this machine keeps its state: `--data`, else LONGSHORE_DATA, else `~/.longshore`. */
export function farmFolder(env: Readonly<Record<string, string | undefined>>, asked?: string): string {
  return resolve(asked ?? (env.LONGSHORE_DATA || join(env.HOME || homedir(), '.longshore')));
}

/** The credential that commands use: LONGSHORE_CREDENTIAL, else the one in the data folder. */
export function credentialPath(env: Readonly<Record<string, string | undefined>>, data?: string): string {
  return env.LONGSHORE_CREDENTIAL ? resolve(env.LONGSHORE_CREDENTIAL) : join(farmFolder(env, data), 'credential.json');
}
