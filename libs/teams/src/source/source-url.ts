import { isAbsolute } from 'node:path';
import { FarmError } from '#contracts';

/** A URL that a Task may start from, taken apart; it holds no credential (H30). */
export type SourceUrl =
  | { readonly protocol: 'https' | 'ssh'; readonly url: string; readonly host: string; readonly port: number }
  /** A folder of the controller's machine. */
  | { readonly protocol: 'file'; readonly url: string };

/**
 * Reads what a person gave as the URL of a repository.
 *
 * @throws FarmError source_refused, saying which rule it breaks and never the value
 */
export function readSourceUrl(given: string): SourceUrl {
  const text = given.trim();
  if (text === '' || /[\s\p{Cc}]/u.test(text))
    throw refused('The URL is empty, or has spaces or control characters in it.');
  if (/^[A-Za-z][A-Za-z0-9+.-]*::/.test(text))
    throw refused(
      'The URL names a transport of git that runs a program (such as ext::); only https and ssh are taken.',
    );
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):\/\//.exec(text)?.[1]?.toLowerCase();
  if (scheme === 'https') return overHttps(text);
  if (scheme === 'ssh' || scheme === 'git+ssh' || scheme === 'ssh+git') return overSsh(text);
  if (scheme !== undefined)
    throw refused(`${nameOf(scheme)} Only https and ssh are taken.`, scheme === 'file' ? folderHint : undefined);
  if (/^file:/i.test(text)) throw refused(`${nameOf('file')} Only https and ssh are taken.`, folderHint);
  if (isAbsolute(text)) return { protocol: 'file', url: text.replace(/(?<=.)\/+$/, '') };
  return scpStyle(text);
}

/** The same repository, however its URL was written. */
export function sameSource(one: SourceUrl, other: SourceUrl): boolean {
  return plainest(one) === plainest(other);
}

/** Whether both are at the same door: what opens one was meant for the other too. */
export function sameOrigin(one: SourceUrl, other: SourceUrl): boolean {
  if (one.protocol === 'file' || other.protocol === 'file') return one.protocol === other.protocol;
  return one.protocol === other.protocol && one.host === other.host && one.port === other.port;
}

function plainest({ url }: SourceUrl): string {
  return url.replace(/\/+$/, '').replace(/\.git$/, '');
}

const folderHint =
  'A checkout of your own goes along with longshore task start --source DIR; an admin registers a folder of the controller by its absolute path.';

function nameOf(scheme: string): string {
  if (scheme === 'file') return 'A file: URL is refused.';
  if (scheme === 'http') return 'http sends everything in the clear.';
  if (scheme === 'git') return 'git: has no encryption and knows nobody.';
  return 'The URL has a scheme that is not taken.';
}

function overHttps(text: string): SourceUrl {
  const url = parsed(text);
  if (url.username !== '' || url.password !== '') throw withCredential();
  if (url.search !== '' || url.hash !== '') throw refused('The URL of a repository has no query and no fragment.');
  return {
    protocol: 'https',
    url: `https://${url.host}${pathOf(url)}`,
    host: hostOf(url.hostname),
    port: url.port === '' ? 443 : Number(url.port),
  };
}

function overSsh(text: string): SourceUrl {
  const url = parsed(`ssh://${text.slice(text.indexOf('://') + 3)}`);
  if (url.password !== '') throw withCredential();
  if (url.search !== '' || url.hash !== '') throw refused('The URL of a repository has no query and no fragment.');
  const host = hostOf(url.hostname);
  const user = url.username === '' ? '' : `${userOf(url.username)}@`;
  const port = url.port === '' ? 22 : Number(url.port);
  return {
    protocol: 'ssh',
    url: `ssh://${user}${host}${port === 22 ? '' : `:${port}`}${pathOf(url)}`,
    host,
    port,
  };
}

/** `git@host:team/app.git`: the path is relative to the home of the user there. */
function scpStyle(text: string): SourceUrl {
  if (/^[^@/:]+:[^@/]*@/.test(text)) throw withCredential();
  const [, user, named = '', path = ''] = /^(?:([^@/:]+)@)?(\[[0-9A-Fa-f:.]+\]|[^/:@[\]]+):(.*)$/.exec(text) ?? [];
  if (named === '' || path === '')
    throw refused(
      'This is no URL of a repository.',
      'Write https://host/path, ssh://user@host/path or user@host:path.',
    );
  if (path.startsWith('-') || path.startsWith(':'))
    throw refused('The path of the repository begins with a sign that git reads otherwise.');
  const host = hostOf(named.toLowerCase());
  return { protocol: 'ssh', url: `${user === undefined ? '' : `${userOf(user)}@`}${host}:${path}`, host, port: 22 };
}

function parsed(text: string): URL {
  const url = URL.parse(text);
  if (url !== null && url.hostname !== '') return url;
  throw refused('This is no URL of a repository.', 'Write https://host/path, ssh://user@host/path or user@host:path.');
}

function pathOf(url: URL): string {
  if (url.pathname === '' || url.pathname === '/') throw refused('The URL names a host and no repository on it.');
  return url.pathname;
}

/**
 * What ssh could read as an option, or a shell as more than a word, never gets that far. Nor does another spelling of a name, such
 * as with a dot at the end: git would not find the judged address under it and ask a name server itself.
 */
function hostOf(host: string): string {
  const lower = host.toLowerCase();
  if (/^(\[[0-9a-f:.]+\]|[a-z0-9]([a-z0-9._-]*[a-z0-9])?)$/.test(lower)) return lower;
  throw refused('The host of the URL is not a name or an address.');
}

function userOf(user: string): string {
  if (/^[A-Za-z0-9_][A-Za-z0-9._-]*$/.test(user)) return user;
  throw user.includes(':') ? withCredential() : refused('The user of the URL is not one that ssh takes.');
}

function withCredential(): FarmError {
  return refused(
    'The URL holds a credential.',
    'Leave it out of the URL and give it apart: longshore repo add NAME URL --token-file FILE.',
  );
}

function refused(detail: string, hint?: string): FarmError {
  return new FarmError('source_refused', detail, hint === undefined ? {} : { hint });
}
