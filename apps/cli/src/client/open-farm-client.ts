import { FarmError } from '#contracts';
import { serviceBearer } from './bearer.js';
import { readCredential } from './credential.js';
import { farmAddress, isOpenRoad } from './farm-address.js';
import { type FarmClient, farmClient, personClient } from './farm-client.js';
import { credentialPath } from './farm-folder.js';

type Environment = Readonly<Record<string, string | undefined>>;

const ownFarm = 'http://127.0.0.1:4180';

/**
 * The farm that commands talk to: as a service when LONGSHORE_TOKEN is set (at LONGSHORE_URL, else this machine's farm), else with
 * the credential of this machine. Errors: FarmError invalid_input for an address that will not do, and those of readCredential.
 */
export async function openFarmClient(env: Environment, data?: string): Promise<FarmClient> {
  const token = env.LONGSHORE_TOKEN;
  if (token) return farmClient(serviceAddress(env.LONGSHORE_URL || ownFarm), () => serviceBearer(token));
  return await openWithCredential(credentialPath(env, data));
}

export async function openWithCredential(credentialFile: string): Promise<FarmClient> {
  return personClient(await readCredential(credentialFile), credentialFile);
}

/** A token is worth as much as a password: it does not travel where others can read it. */
function serviceAddress(given: string): string {
  const url = farmAddress(given);
  if (!isOpenRoad(url)) return url;
  throw new FarmError('invalid_input', 'LONGSHORE_URL is plain HTTP to another machine.', {
    hint: 'Use its https address.',
  });
}
