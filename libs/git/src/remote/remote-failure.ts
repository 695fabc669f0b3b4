import { FarmError } from '#contracts';

interface Reason {
  readonly pattern: RegExp;
  readonly code: 'source_unavailable' | 'source_refused';
  readonly detail: string;
  readonly hint: string;
}

/** Checked in order: the first that fits is told. */
const reasons: readonly Reason[] = [
  {
    pattern: /Host key verification failed|REMOTE HOST IDENTIFICATION HAS CHANGED|host key .* has changed/i,
    code: 'source_refused',
    detail: 'The ssh host shows another key than the one that is known of it, or none that is known.',
    hint: 'Ask who runs the host. If its key is new, register the repository again with its lines of known_hosts (--host-keys FILE).',
  },
  {
    pattern: /Permission denied \(|Too many authentication failures/i,
    code: 'source_unavailable',
    detail: 'The origin does not accept the ssh key of this repository.',
    hint: 'Put its public half at the origin, or register the repository again with another key (longshore repo add --replace --ssh-key FILE).',
  },
  {
    pattern: /invalid format|error in libcrypto|bad permissions|Load key/i,
    code: 'source_refused',
    detail: 'ssh can not use the key of this repository.',
    hint: 'Register the repository again with a private key without a passphrase (longshore repo add --replace --ssh-key FILE).',
  },
  {
    pattern: /could not read (Username|Password)|Authentication failed|returned error: 40[13]|HTTP 40[13]/i,
    code: 'source_unavailable',
    detail: 'The origin wants a credential, or does not accept the one of this repository.',
    hint: 'Register the repository with a token that may read it (longshore repo add --replace --token-file FILE), then resume the Task.',
  },
  {
    pattern: /returned error: 30\d|unable to update url base from redirection/i,
    code: 'source_refused',
    detail: 'The origin sends callers on to another address, and redirects are not followed.',
    hint: 'Register the repository under the address where it is now.',
  },
  {
    pattern:
      /SSL certificate problem|certificate verification failed|self.signed certificate|SSL_ERROR|gnutls_handshake|CAfile/i,
    code: 'source_unavailable',
    detail: 'The certificate of the origin is not one that this controller trusts.',
    hint: 'An admin names the certificates of your own authority with LONGSHORE_SOURCE_CA_FILE.',
  },
  {
    pattern:
      /returned error: 404|Repository not found|does not appear to be a git repository|repository\s+not found|no such repository/i,
    code: 'source_unavailable',
    detail: 'There is no repository at this address, or the credential may not see it.',
    hint: 'Check the URL and what the credential may read, then resume the Task.',
  },
  {
    pattern: /detected dubious ownership/i,
    code: 'source_refused',
    detail: 'The folder belongs to another user than the one that the controller runs as.',
    hint: 'Give the controller a copy that it owns.',
  },
  {
    pattern: /fsck error|in fsck|hasDotgit|hasDotdot/i,
    code: 'source_refused',
    detail: 'The history of the origin holds an object that git does not let pass.',
    hint: 'Run `git fsck --strict` in a clone of it: it names the object.',
  },
  {
    pattern:
      /Failed to connect|Connection (refused|timed out|reset|closed)|No route to host|Network is unreachable|Could not resolve|Operation too slow|Operation timed out|kex_exchange_identification|early EOF|hung up unexpectedly|returned error: 5\d\d|returned error: 429/i,
    code: 'source_unavailable',
    detail: 'The origin can not be reached, or breaks off.',
    hint: 'Resume the Task when it answers again.',
  },
  {
    // the system ends index-pack where its file would grow too large, and it says nothing; so this comes last
    pattern: /died of signal 25|File too large|exceeds maximum allowed size|Out of memory|invalid index-pack output/i,
    code: 'source_refused',
    detail: 'The repository is larger than the limit of a source.',
    hint: 'Start from a smaller repository, or upload a checkout.',
  },
];

/** git's words as a clear reason and a way out; what the origin says itself never leaves: it is a stranger's text. */
export function remoteFailure(stderr: string): FarmError {
  const cause = new Error(stderr.slice(-2048));
  const own = wordsOfGit(stderr);
  const known = reasons.find(({ pattern }) => pattern.test(own));
  if (known) return new FarmError(known.code, known.detail, { hint: known.hint, cause });
  return new FarmError('source_unavailable', 'git could not read from the origin.', {
    hint: 'Try the URL with `git ls-remote` on the machine of the controller; its log has the reason.',
    cause,
  });
}

/** Without what the origin says and without the URL: both could hold any word. */
function wordsOfGit(stderr: string): string {
  return stderr
    .split('\n')
    .filter((line) => !line.startsWith('remote:'))
    .map((line) => line.replaceAll(/'[^']*'/g, ''))
    .join('\n');
}

/** A cache of ours that no longer works: made anew, it costs a fetch and nothing else. */
export function isMirrorDamaged(stderr: string): boolean {
  return /\.lock': File exists|bad object|missing necessary objects|object file .* is empty|unable to read tree|did not send all necessary objects|cannot lock ref|is corrupt/i.test(
    stderr,
  );
}
