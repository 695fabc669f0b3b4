import { FarmError } from '#contracts';
import { git } from './git.js';

/** `merge-tree --write-tree` came with it. */
const oldest = [2, 38] as const;

/**
 * The version of the machine's git, `2.39.5`.
 *
 * @throws FarmError `misconfigured` when git is missing or older than 2.38; the hint says how to mend it
 */
export async function requireGit(): Promise<string> {
  const answer = await git(['version'], { accept: 'any' });
  return checkGitVersion(answer.exitCode === 0 ? answer.text : '');
}

/** Reads the answer of `git version`; empty when there was none. */
export function checkGitVersion(answer: string): string {
  const found = /^git version (\d+)\.(\d+)(\S*)/.exec(answer);
  const wanted = oldest.join('.');
  const hint = `Install git ${wanted} or newer and put it first in PATH (Debian: apt-get install git; macOS: brew install git).`;
  if (found === null) throw new FarmError('misconfigured', 'git was not found on this machine.', { hint });
  const [, major = '0', minor = '0', rest = ''] = found;
  const version = `${major}.${minor}${rest}`;
  const newEnough = Number(major) > oldest[0] || (Number(major) === oldest[0] && Number(minor) >= oldest[1]);
  if (newEnough) return version;
  throw new FarmError('misconfigured', `git ${version} is too old; Longshore needs ${wanted} or newer.`, { hint });
}
