import { readSourceUrl, type SourceUrl } from './source-url.js';

/**
 * Where a submodule is: its URL in .gitmodules, relative ones (`./x`, `../x`) taken from the URL of the repository that holds it, as
 * git does. Judged like any source (H30).
 *
 * @returns a sentence: why it is none
 * @throws FarmError `source_refused` by the rules of `readSourceUrl`
 */
export function submoduleUrl(holder: SourceUrl, given: string): SourceUrl | string {
  const relative = /^\.\.?(\/|$)/.test(given);
  if (relative && holder.protocol === 'file')
    return 'its URL is relative, and the repository is a folder of the controller';
  const url = relative ? fromHolder(holder.url, given) : given;
  if (url === undefined) return 'its URL leads above the host of the repository';
  const read = readSourceUrl(url);
  return read.protocol === 'file' ? 'its URL is a folder' : read;
}

/** The part of a URL that no `..` takes away: `https://host:port`, `ssh://user@host`, `user@host:`. */
const root = /^([a-z+]+:\/\/[^/]+|[^/:]+:|\[[^\]]+\]:)/;

function fromHolder(holder: string, given: string): string | undefined {
  const start = root.exec(holder)?.[0] ?? '';
  const parts = holder
    .slice(start.length)
    .split('/')
    .filter((part) => part !== '');
  for (const part of given.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') parts.push(part);
    else if (parts.pop() === undefined) return undefined;
  }
  return parts.length === 0 ? undefined : `${start}${separatorOf(start, holder)}${parts.join('/')}`;
}

function separatorOf(start: string, holder: string): string {
  return start.includes('://') || holder.startsWith('/', start.length) ? '/' : '';
}
