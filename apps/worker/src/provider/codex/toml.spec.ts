import { describe, expect, it } from '@jest/globals';
import { settingArgs, toml } from './toml.js';

describe('settings as TOML', () => {
  it('keep every character of a text', () => {
    expect(toml('a "b" \\ c\n\u0001 é')).toBe('"a \\"b\\" \\\\ c\\n\\u0001 é"');
    expect(toml('\u007f')).toBe('"\\u007f"');
  });

  it('nest, with quoted names', () => {
    expect(settingArgs({ 'a.b': { 'x y': ['one', 2, true] }, c: {} })).toEqual([
      ...['-c', 'a.b={"x y" = ["one", 2, true]}', '-c', 'c={}'],
    ]);
  });
});
