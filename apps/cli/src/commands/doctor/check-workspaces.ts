import { proveWorkspaces } from '../../farm/workspaces.js';
import { failureOf } from '../../output/failure.js';
import { type Finding, ok, warning } from './check.js';

/** Tries each way to make a workspace, best first. A way that is not here is only worth a word where no better one is. */
export async function checkWorkspaces(data: string): Promise<readonly Finding[]> {
  try {
    let isBest = true;
    return (await proveWorkspaces(data)).map(({ backend, missing }) => {
      const name = `workspace ${backend}`;
      if (missing === undefined) {
        const found = isBest ? `works, and is used${does[backend]}` : 'works';
        isBest = false;
        return ok(name, found);
      }
      return isBest ? warning(name, missing, fixes[backend]) : ok(name, `not needed: ${missing}`);
    });
  } catch (error) {
    const { message } = failureOf(error);
    return [
      warning('workspace', `it could not be tried: ${message.split('\n')[0]}`, 'Run `npm ci` again on this machine.'),
    ];
  }
}

const does = {
  overlay: ': a workspace costs what is changed in it',
  reflink: ': a workspace costs what is changed in it',
  clone: ': each workspace is a whole copy',
} as const;

const fixes = {
  overlay:
    'Nothing has to be done: the next one is used. Run the worker as root, or set LONGSHORE_USER_NAMESPACE=1, to have it.',
  reflink: "Nothing has to be done: the next one is used. Put the worker's folder on XFS, Btrfs or APFS to have it.",
  clone: 'Run `longshore doctor` again.',
} as const;
