import { CredentialFile, FarmError } from '#contracts';
import { readSecretFile } from './private-read.js';

/**
 * Who the person at this machine is for the farm. FarmError unavailable when no farm was ever started here, misconfigured when
 * the file is open to others (the fix is in the hint) or damaged.
 */
export async function readCredential(path: string): Promise<CredentialFile> {
  const text = await readSecretFile(path);
  if (text === undefined) {
    throw new FarmError('unavailable', `There is no credential at ${path}.`, {
      hint: 'Start the farm by `npm start`, or name the credential of another farm with LONGSHORE_CREDENTIAL, or a service token with LONGSHORE_TOKEN.',
    });
  }
  try {
    return CredentialFile.parse(JSON.parse(text));
  } catch {
    // No cause: a parse error quotes the file, and it holds a key.
    throw new FarmError('misconfigured', `The credential at ${path} is damaged.`, {
      hint: 'Put it back from a copy, or ask an admin of the farm for another.',
    });
  }
}
