import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { readCheckedYaml } from './checked-yaml.js';

const Anything = z.looseObject({ hidden: z.array(z.string()).default([]) });

describe('YAML that is checked', () => {
  it('is an empty map where it is empty', () => {
    expect(readCheckedYaml('# nothing\n', Anything)).toEqual({ ok: true, value: { hidden: [] } });
  });

  it('is a mistake and no empty map where it grows without end, or names what is not there', () => {
    const level = (name: string, of: string) => `${name}: &${name} [${Array(20).fill(of).join(', ')}]`;
    const bomb = ['hidden: [/secret]', level('a', 'x'), level('b', '*a'), level('c', '*b'), level('d', '*c')];
    for (const source of [bomb.join('\n'), 'hidden: *nowhere\n'])
      expect(readCheckedYaml(source, Anything)).toMatchObject({ ok: false, mistakes: [{ line: 1 }] });
  });
});
