import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { jsonLine, plainLine, plainText } from './terminal-text.js';

const esc = '\u001b';
const attacks = {
  colour: [`${esc}[31mred${esc}[0m`, 'red'],
  title: [`${esc}]0;owned\u0007text`, 'text'],
  link: [`${esc}]8;;https://evil.test${esc}\\text${esc}]8;;${esc}\\`, 'text'],
  clear: [`${esc}[2J${esc}[Htext`, 'text'],
  'a nested sequence': [`${esc}${esc}[2J[2Jtext`, '[2Jtext'],
  'an eight-bit sequence': ['\u009b31mtext', 'text'],
  bell: ['te\u0007xt\u0008', 'text'],
  'a line that overwrites itself': ['approved\rrefused', 'approved\nrefused'],
  'a turned reading order': ['a\u202eb\u2066c', 'abc'],
} as const;

describe('text from outside', () => {
  it.each(Object.entries(attacks))('H38 prints without %s', (_name, [text, printed]) => {
    expect(plainText(text)).toBe(printed);
  });

  it('H38 lets nothing through that a terminal obeys, whatever comes', () => {
    const nasty = fc.array(
      fc.oneof(
        fc.constantFrom(esc, '[', ']', '2J', ';', '\u0007', '\u009b', '\u009d', '\\', 'm', '\r', '\n'),
        fc.string({ unit: 'binary' }),
      ),
    );
    fc.assert(
      fc.property(nasty, (parts) => {
        // biome-ignore lint/suspicious/noControlCharactersInRegex: that is the promise
        expect(plainText(parts.join(''))).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/);
      }),
    );
  });

  it('H38 shows JSON with the characters escaped that JSON leaves as they are', () => {
    const value = { text: `${esc}[2J\u009b2J\u202e` };
    expect(jsonLine(value)).toBe('{"text":"\\u001b[2J\\u009b2J\\u202e"}');
    expect(JSON.parse(jsonLine(value))).toEqual(value);
  });

  it('keeps text in other scripts, and folds it to one line where one line is asked for', () => {
    expect(plainText('Ångström\n\t日本 🙂')).toBe('Ångström\n\t日本 🙂');
    expect(plainLine(' a\n\n b\t c ')).toBe('a b c');
  });
});
