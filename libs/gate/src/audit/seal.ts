import type { AuditKey } from '../keys/farm-keys.js';
import type { SealRow } from '../sql/audit.js';

/** What a seal is made over, beside the seal before it. */
type Sealing = Pick<SealRow, 'n' | 'key_id' | 'lost'> & { readonly content: string };

/** The seal of a row: it stands for this row, at this place, behind all that were sealed before (H43). */
export function sealOf(key: AuditKey, before: Buffer | undefined, { n, key_id, lost, content }: Sealing): Buffer {
  return key.mac([String(n), key_id, before?.toString('base64url') ?? '', lost ?? '', content].join('\n'));
}
