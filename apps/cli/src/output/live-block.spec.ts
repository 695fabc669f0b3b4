import { PassThrough } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { LiveBlock } from './live-block.js';

/** What a terminal of this width would show: it knows lines, cursor up and erase to the end, which is all that is written. */
function aTerminal(columns: number) {
  const stream = Object.assign(new PassThrough(), { isTTY: true, columns });
  const lines = (): readonly string[] => {
    const written = String(stream.read() ?? '');
    const rows: string[] = [''];
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a terminal obeys
    for (const part of written.split(/(\u001b\[\d+A\u001b\[0J|\n)/)) {
      const up = /\[(\d+)A/.exec(part)?.[1];
      if (up !== undefined) rows.splice(rows.length - 1 - Number(up), Number(up) + 1, '');
      else if (part === '\n') rows.push('');
      else rows[rows.length - 1] += part;
    }
    return rows;
  };
  return { stream, lines };
}

describe('lines that are drawn anew in place', () => {
  it('stay below what is written above them, in their last form, and go at the end', () => {
    const { stream, lines } = aTerminal(80);
    const block = new LiveBlock(stream);
    block.draw('a\nb');
    block.above(() => stream.write('first\n'));
    block.draw('c');
    block.above(() => stream.write('second\n'));
    block.draw('d\ne\nf');
    expect(lines()).toEqual(['first', 'second', 'd', 'e', 'f', '']);
    const again = aTerminal(80);
    const short = new LiveBlock(again.stream);
    short.draw('a\nb');
    short.above(() => again.stream.write('kept\n'));
    short.end();
    expect(again.lines()).toEqual(['kept', '']);
  });

  it('are cut to the width: a line that wraps would be more lines than are counted', () => {
    const { stream, lines } = aTerminal(10);
    new LiveBlock(stream).draw(`\u001b[31m${'x'.repeat(20)}\u001b[39m\nshort`);
    expect(lines()).toEqual([`${'x'.repeat(8)}…`, 'short', '']);
  });
});
