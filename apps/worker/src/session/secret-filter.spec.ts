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
});
