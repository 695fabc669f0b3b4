import { rm } from 'node:fs/promises';
import type { Command } from 'commander';
import { FarmError, sessionRevoke } from '#contracts';
import { readCredential } from '../../client/credential.js';
import { credentialPath } from '../../client/farm-folder.js';
import { tokenPath } from '../../client/person-token.js';
import { RemoteError } from '../../output/failure.js';
import { commandAt, type Frame, runs } from '../frame.js';

/** `logout`: the farm forgets this login, and so does this machine. */
export function addLogout(program: Command, frame: Frame): void {
  const command = commandAt(program, ['logout']).description('End this login at the farm and forget it here.');
  runs(command, frame, async (run) => {
    const { screen, surroundings, data } = run;
    const path = credentialPath(surroundings.env, data);
    const { session, url } = await readCredential(path);
    if (session === undefined)
      throw new FarmError('conflict', `${path} is the credential of the farm of this machine, and the only copy.`, {
        hint: 'There is nothing to log out: it was not made by `longshore login`.',
      });
    const client = await run.client();
    const told = await client.call(sessionRevoke, { session_id: session }).then(
      () => true,
      (error: unknown) => {
        // Over already: it was ended elsewhere, or its time had come.
        if (error instanceof RemoteError && ['unauthenticated', 'not_found'].includes(error.problem.code)) return false;
        throw error;
      },
    );
    await rm(tokenPath(path), { force: true });
    await rm(path, { force: true });
    screen.answer({ logged_out: true, url });
    screen.say(told ? `logged out at ${url}` : `this login was over at ${url} already; it is forgotten here`);
  });
}
