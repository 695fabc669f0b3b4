import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { cutText } from './cut-text.js';

describe('a text that is cut', () => {
  it('A8.2 ends on a code point: 255,999 clean bytes where the 256,000th is the middle of a character', () => {
    const cut = cutText(`a${'é'.repeat(128_001)}`, 256_000);
    expect(Buffer.byteLength(cut)).toBe(255_999);
    expect(cut).not.toContain('\uFFFD');
  });

  it('A8.2 is a beginning of the whole, within its bytes and no shorter than it must be', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.nat(40), (given, most) => {
        const text = given.toWellFormed();
        const cut = cutText(text, most);
        expect(text.startsWith(cut)).toBe(true);
        const next = [...text.slice(cut.length)][0] ?? '';
        expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(most);
        if (next !== '') expect(Buffer.byteLength(cut + next)).toBeGreaterThan(most);
      }),
    );
  });
});
