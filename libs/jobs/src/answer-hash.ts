import { hash } from 'node:crypto';
import { canonicalJson } from '#contracts';

/** What a lease was ended with, as a digest: the same call again is known by it, whatever the order of its keys (A12.9). */
export function answerHash(operation: 'complete' | 'fail', given: unknown): Buffer {
  return hash('sha256', `${operation}\n${canonicalJson(given)}`, 'buffer');
}
