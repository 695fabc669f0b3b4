import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import type { Command } from 'commander';
import { FarmError, whoami } from '#contracts';
import { readCredential } from '../../client/credential.js';
import { beginDeviceLogin } from '../../client/device-login.js';
import { farmAddress, isOpenRoad } from '../../client/farm-address.js';
import { personClient } from '../../client/farm-client.js';
import { credentialPath } from '../../client/farm-folder.js';
import { plainLine } from '../../output/terminal-text.js';
import { makePrivateFolder, readIfThere, writePrivateJson } from '../../services/private-file.js';
import { commandAt, type Frame, runs } from '../frame.js';

/** `login <url>`: a person at a browser lets this command line in (RFC 8628). No password is typed here. */
export function addLogin(program: Command, frame: Frame): void {
  const command = commandAt(program, ['login'])
    .description('Log in to a farm: approve it in a browser, on this machine or another.')
    .argument('<url>', 'address of the farm')
    .option('--insecure', 'over plain HTTP to another machine, where all that is sent can be read');
  runs<{ insecure?: boolean }>(command, frame, async (run, { insecure }, [given = '']) => {
    const { screen, surroundings, data } = run;
    const { env, signal } = surroundings;
    const url = farmAddress(given);
    if (isOpenRoad(url) && insecure !== true)
      throw new FarmError('invalid_input', 'The address is plain HTTP to another machine.', {
        hint: 'Use its https address, or --insecure if you trust everything in between.',
      });
    const path = credentialPath(env, data);
    await keepOwnFarm(path);
    const login = await beginDeviceLogin(url, hostname(), signal);
    const { userCode, page, completePage, expiresInSeconds } = login;
    const shown = { verification_uri: page, verification_uri_complete: completePage, user_code: userCode };
    screen.answer({ ...shown, expires_in: expiresInSeconds });
    screen.say(`Open ${plainLine(completePage)}`);
    screen.say(
      `and approve the code ${screen.tint.bold(plainLine(userCode))} there (${expiresInSeconds / 60} minutes)`,
    );
    const credential = await login.granted(signal);
    await makeFolder(dirname(path));
    await writePrivateJson(path, credential);
    const client = personClient(credential, path);
    try {
      const who = await client.call(whoami, {}, { signal });
      screen.answer({ logged_in: true, name: who.name, role: who.role, url, credential_file: path });
      screen.say(`logged in at ${url} as ${plainLine(who.name)} (${who.role}); kept in ${path}`);
    } finally {
      await client.close();
    }
  });
}

/** The credential that a farm made for its first admin lies in the same place, and there is no other copy of it. */
async function keepOwnFarm(path: string): Promise<void> {
  if ((await readIfThere(path)) === undefined) return;
  const { session } = await readCredential(path);
  if (session === undefined)
    throw new FarmError('conflict', `${path} is the credential of the farm of this machine, and the only copy.`, {
      hint: 'Keep this login elsewhere: set LONGSHORE_CREDENTIAL to another file, for this and later commands.',
    });
}

/** A folder that is there keeps its mode: it may be the person's own. */
async function makeFolder(path: string): Promise<void> {
  if (!existsSync(path)) await makePrivateFolder(path);
}
