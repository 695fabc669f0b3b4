import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { FarmError } from '#contracts';

export interface JoinTicket {
  /** The whole text: what enrolment sends. */
  readonly text: string;
  /** SHA-256 of the controller's key, base64url (H36). */
  readonly fingerprint: string;
}

/** `ls-join.<secret>.<fingerprint>`. @throws FarmError `ticket_invalid`, without the text */
function parseTicket(text: string): JoinTicket {
  const whole = text.trim();
  const fingerprint = /^ls-join\.[A-Za-z0-9_-]{22,}\.([A-Za-z0-9_-]{43})$/.exec(whole)?.[1];
  if (fingerprint !== undefined) return { text: whole, fingerprint };
  throw new FarmError('ticket_invalid', 'This is not a join ticket.', {
    hint: 'Make one with `longshore worker invite` and give it whole, from a file or by stdin.',
  });
}

/** Of a raw Ed25519 public key, given base64url. */
export function fingerprintOf(publicKey: string): string {
  return createHash('sha256').update(Buffer.from(publicKey, 'base64url')).digest('base64url');
}

/**
 * From the file, or the first line of stdin; never from an argument (H22).
 *
 * @throws FarmError `misconfigured` when there is none · `ticket_invalid`
 */
export async function readTicket(file: string | undefined): Promise<JoinTicket> {
  if (file !== undefined) {
    const text = await readFile(file, 'utf8').catch((cause: unknown) => {
      throw new FarmError('misconfigured', 'The file of LONGSHORE_JOIN_TICKET_FILE can not be read.', { cause });
    });
    return parseTicket(text);
  }
  if (process.stdin.isTTY) process.stderr.write('Join ticket: ');
  const line = await firstLine();
  if (line.trim() !== '') return parseTicket(line);
  throw new FarmError('misconfigured', 'This worker has not joined a farm yet, and there is no join ticket.', {
    hint: 'Make one with `longshore worker invite` and give it by stdin or in LONGSHORE_JOIN_TICKET_FILE.',
  });
}

async function firstLine(): Promise<string> {
  const lines = createInterface({ input: process.stdin });
  try {
    for await (const line of lines) return line;
    return '';
  } finally {
    lines.close();
    process.stdin.destroy();
  }
}
