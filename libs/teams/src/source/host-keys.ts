import { createHash, createHmac } from 'node:crypto';
import { FarmError } from '#contracts';
import { knownName } from '#git';

interface HostKey {
  readonly kind: string;
  readonly key: string;
}

/**
 * The lines of a known_hosts file that are of this host, written plainly; those of other hosts are left out, so that no other host
 * can pass for this one.
 *
 * @throws FarmError source_refused when there is none
 */
export function hostKeysOf(text: string, host: string, port: number): string {
  const name = knownName(host, port);
  const lines = text.split('\n').flatMap((line) => {
    const [names = '', kind = '', key = ''] = line.trim().split(/\s+/);
    const sound = /^[a-z0-9@.-]+$/.test(kind) && /^[A-Za-z0-9+/]{16,}={0,2}$/.test(key);
    return sound && namesThis(names, name) ? [`${name} ${kind} ${key}`] : [];
  });
  if (lines.length > 0) return [...new Set(lines)].join('\n');
  throw new FarmError(
    'source_refused',
    'None of the given host keys is a line of known_hosts for the host of the URL.',
    {
      hint: '`ssh-keyscan HOST` writes such lines; compare them with what the host publishes.',
    },
  );
}

/** `SHA256:…`, as ssh shows them. */
export function fingerprintsOf(lines: string | null): readonly string[] {
  return (lines ?? '').split('\n').flatMap((line) => {
    const { kind, key } = partsOf(line);
    if (key === '') return [];
    const hash = createHash('sha256').update(Buffer.from(key, 'base64')).digest('base64').replace(/=+$/, '');
    return [`${kind} SHA256:${hash}`];
  });
}

function partsOf(line: string): HostKey {
  const [, kind = '', key = ''] = line.trim().split(/\s+/);
  return { kind, key };
}

/** Plain names stand between commas; a hashed one is an HMAC of the name under a salt. */
function namesThis(names: string, name: string): boolean {
  const [, salt, hash] = /^\|1\|([^|]+)\|([^|]+)$/.exec(names) ?? [];
  if (salt === undefined || hash === undefined) return names.toLowerCase().split(',').includes(name);
  return createHmac('sha1', Buffer.from(salt, 'base64')).update(name).digest('base64') === hash;
}
