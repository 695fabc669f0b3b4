import { type Change, canonicalJson, type Preview, type Proposal } from '#contracts';
import type { InputHasher } from '../keys/farm-keys.js';

/** Equal lists are equal, whatever the order a rule found them in (A6.5). */
function sortedChanges(changes: readonly Change[]): readonly Change[] {
  return changes
    .map((change) => ({ change, text: canonicalJson(change) }))
    .sort((a, b) => compare(a.change.id, b.change.id) || compare(a.text, b.text))
    .map(({ change }) => change);
}

/** Of all changes: says later whether the world has moved since (A6.16). */
export function digestOf({ changes }: Preview, operation: string, hasher: InputHasher): Buffer {
  return hasher.hash(`changes of ${operation}`, sortedChanges(changes));
}

/** The first changes, and how many there are (A6.4). */
export function proposalOf({ summary, changes }: Preview, shown: number): Proposal {
  return { summary, changes: sortedChanges(changes).slice(0, shown), count: changes.length };
}

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
