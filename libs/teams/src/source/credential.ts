import { FarmError, type RepositoryCredential } from '#contracts';
import type { SourceUrl } from './source-url.js';

/** @throws FarmError source_refused when the credential can not open such a URL, or can not be used without a person */
export function checkCredential(credential: RepositoryCredential, { protocol }: SourceUrl): void {
  if (credential.kind === 'token' && protocol !== 'https')
    throw refused(
      'A token opens https URLs only.',
      'Give the https URL of the repository, or an ssh key (--ssh-key FILE).',
    );
  if (credential.kind === 'ssh_key' && protocol !== 'ssh')
    throw refused(
      'An ssh key opens ssh URLs only.',
      'Give the ssh URL of the repository, or a token (--token-file FILE).',
    );
  if (credential.kind === 'none' && protocol === 'ssh')
    throw refused('An ssh URL needs a key of its own.', 'Give a private key without a passphrase: --ssh-key FILE.');
  if (credential.kind === 'ssh_key') checkKey(credential.private_key);
}

function checkKey(text: string): void {
  if (text.startsWith('PuTTY-User-Key-File'))
    throw refused('The ssh key is in the format of PuTTY.', 'Export it in the format of OpenSSH.');
  const body = /-----BEGIN ([A-Z ]*)PRIVATE KEY-----([\s\S]+?)-----END \1PRIVATE KEY-----/.exec(text);
  if (body === null) {
    throw refused(
      'This is no private ssh key.',
      'Give the private half, which begins with -----BEGIN and has no .pub in its name.',
    );
  }
  const [, kind = '', content = ''] = body;
  if (kind === 'ENCRYPTED ' || content.includes('Proc-Type: 4,ENCRYPTED') || isSealed(kind, content)) {
    throw refused(
      'The ssh key has a passphrase, and nobody is there to type it.',
      'Make a deploy key without one: ssh-keygen -t ed25519 -N "" -f FILE.',
    );
  }
}

const magic = 'openssh-key-v1\0';

/** OpenSSH's own format names its cipher right behind the magic. */
function isSealed(kind: string, content: string): boolean {
  if (kind !== 'OPENSSH ') return false;
  const bytes = Buffer.from(content.replaceAll(/\s/g, ''), 'base64');
  if (bytes.toString('latin1', 0, magic.length) !== magic || bytes.length < magic.length + 8) return false;
  const length = bytes.readUInt32BE(magic.length);
  return bytes.toString('latin1', magic.length + 4, magic.length + 4 + length) !== 'none';
}

function refused(detail: string, hint: string): FarmError {
  return new FarmError('source_refused', detail, { hint });
}
