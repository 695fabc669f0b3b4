import { open } from 'node:fs/promises';
import { FarmError, systemCodeOf } from '#contracts';

const forOthers = 0o077;

/**
 * The text of a file that holds a secret, or undefined when there is none. It is looked at through the opened file, so that it
 * can not be changed in between. FarmError misconfigured when others on this machine may read it or it belongs to another user.
 */
export async function readSecretFile(path: string): Promise<string | undefined> {
  const file = await open(path, 'r').catch((error: unknown) => {
    if (systemCodeOf(error) === 'ENOENT') return undefined;
    throw new FarmError('misconfigured', `The file ${path} can not be read.`, { cause: error });
  });
  if (file === undefined) return undefined;
  try {
    const { mode, uid } = await file.stat();
    if ((mode & forOthers) !== 0) {
      throw new FarmError('misconfigured', `Others on this machine may read ${path}, and it holds a secret.`, {
        hint: `chmod 600 '${path}'`,
      });
    }
    const own = process.geteuid?.();
    if (own !== undefined && uid !== own) {
      throw new FarmError('misconfigured', `The file ${path} belongs to another user.`, {
        hint: 'Name your own with LONGSHORE_CREDENTIAL.',
      });
    }
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}
