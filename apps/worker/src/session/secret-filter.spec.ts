import { describe, expect, it } from '@jest/globals';
import { SecretFilter } from './secret-filter.js';

const through = (secrets: Readonly<Record<string, string>>, ...pieces: readonly string[]): readonly string[] => {
  const filter = new SecretFilter(secrets);
  return [...pieces.map((piece) => filter.pass(Buffer.from(piece)).toString()), filter.rest().toString()];
};

describe('what a command says', () => {
  it('loses the secrets of its repository, wherever they are cut', () => {
    const key = 'secret-canary';
    for (let cut = 0; cut <= key.length; cut += 1) {
      const shown = through({ KEY: key }, `a ${key.slice(0, cut)}`, `${key.slice(cut)} b ${key}`).join('');
      expect(shown).toBe('a *** b ***');
    }
    expect(through({ KEY: key }, ...key).join('')).toBe('***');
  });

  it('waits for nothing that is no beginning of a secret, and keeps what only looked like one', () => {
    expect(through({ KEY: 'secret-canary' }, 'a secret', '-cat')).toEqual(['a ', 'secret-cat', '']);
    expect(through({ KEY: 'secret-canary' }, 'the end: sec')).toEqual(['the end: ', 'sec']);
    expect(through({}, 'sec')).toEqual(['sec', '']);
  });

  it('loses the longer of two secrets whole, and no word that is too short to be one', () => {
    expect(through({ A: 'password', B: 'password-two' }, 'x password-two password y').join('')).toBe('x *** *** y');
    expect(through({ A: 'abc' }, 'abc').join('')).toBe('abc');
  });

  const pieces = (text: string, size: number): readonly string[] => text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];

  it.each([
    ['begins another', ['canary-one', 'canary-one-and-its-tail']],
    ['ends another', ['canary-one', 'the-head-of-canary-one']],
    ['overlaps another', ['one-canary', 'canary-two']],
    ['overlaps itself', ['canarycanary']],
  ])('H35 shows no part of a secret that %s, wherever it is cut', (_, secrets) => {
    const named = Object.fromEntries(secrets.map((secret, index) => [`S${index}`, secret]));
    const said = `a ${secrets.join(' b ')} c one-canary-two d canarycanarycanary e`;
    for (let size = 1; size <= said.length; size += 1) {
      const shown = through(named, ...pieces(said, size)).join('');
      expect([size, shown]).toEqual([size, through(named, said).join('')]);
    }
    const own = secrets.join(' b ');
    for (let size = 1; size <= own.length; size += 1)
      expect(through(named, ...pieces(own, size)).join('')).toBe(secrets.map(() => '***').join(' b '));
    expect(through({ A: 'one-canary', B: 'canary-two' }, ...'x one-canary-two y').join('')).toBe('x *** y');
    expect(through({ A: 'canarycanary' }, ...'x canarycanarycanary y').join('')).toBe('x *** y');
  });

  it('H35 shows no line of a secret of several lines, with whichever line ends', () => {
    const key = '-----BEGIN KEY-----\n  first-line-canary\nsecond-line-canary\n-----END KEY-----\n';
    const said = `${key} ${key.replaceAll('\n', '\r\n')} first-line-canary ${JSON.stringify(key)} ${key.trim()}`;
    for (let size = 1; size <= said.length; size += 1)
      expect(through({ KEY: key }, ...pieces(said, size)).join('')).not.toMatch(/canary|KEY/);
    expect(through({ KEY: 'secret-canary\n' }, 'x secret-canary', ' y').join('')).toBe('x *** y');
  });
});
