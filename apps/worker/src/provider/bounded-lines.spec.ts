import { Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { boundedLines } from './bounded-lines.js';

const read = async (chunks: readonly (string | Buffer)[], maxBytes = 8) => {
  const lines: string[] = [];
  for await (const line of boundedLines(
    Readable.from(
      chunks.map((chunk) => Buffer.from(chunk)),
      { objectMode: true },
    ),
    maxBytes,
  )) {
    lines.push(line);
  }
  return lines;
};

describe('boundedLines', () => {
  it('joins lines over chunks, also in the middle of a character', async () => {
    const euro = Buffer.from('€');
    expect(await read(['a', 'b\nc', '\n\n', euro.subarray(0, 1), euro.subarray(1), '\nend'])).toEqual([
      'ab',
      'c',
      '',
      '€',
      'end',
    ]);
  });

  it('drops a line that is too long, wherever its chunks end, and goes on with the next', async () => {
    expect(await read(['123456789\nok\n'])).toEqual(['ok']);
    expect(await read(['12345', '6789', 'more', '\nok', '\n'])).toEqual(['ok']);
    expect(await read(['12345678\n', '123456789'])).toEqual(['12345678']);
  });
});
