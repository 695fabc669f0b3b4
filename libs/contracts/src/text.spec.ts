import { describe, expect, it } from '@jest/globals';
import { FileReferences, prose, RelativePath, storable, storableJson } from './text.js';

describe('text', () => {
  it('H13 refuses what PostgreSQL can not hold: NUL, lone surrogates, over the limit in bytes', () => {
    const Text = storable(8);
    for (const bad of ['a\0b', '\ud800', 'x\udc00', 'ééééé']) expect(Text.safeParse(bad).success).toBe(false);
    for (const good of ['', 'éééé', '😀😀']) expect(Text.safeParse(good).success).toBe(true);
  });

  it('H13 looks for the same in every string and key of free JSON, and for its depth', () => {
    const Json = storableJson(1000);
    const deep = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));
    for (const bad of [{ a: ['\0'] }, { '\ud800': 1 }, ['x'.repeat(999)], deep(65), deep(100_000), undefined]) {
      expect(Json.safeParse(bad).success).toBe(false);
    }
    // The six characters of an escape are ordinary text.
    for (const good of [{ a: '\\u0000' }, '\\ud800', null, 1, deep(64), { a: { b: [true] } }]) {
      expect(Json.safeParse(good)).toMatchObject({ success: true, data: good });
    }
  });

  it('H13 leaves out of free JSON what would be the prototype of an object', () => {
    const hostile: unknown = JSON.parse('{"a": [{"__proto__": {"b": 1}, "c": 1}], "__proto__": {"b": 1}}');
    expect(JSON.stringify(storableJson(1000).parse(hostile))).toBe('{"a":[{"c":1}]}');
  });

  it('keeps prose as it is but for line ends, and refuses blank', () => {
    expect(prose(100).parse('  a\r\nb\rc\n')).toBe('  a\nb\nc\n');
    expect(prose(100).safeParse(' \n\t ').success).toBe(false);
    expect(prose(100).safeParse('bell\x07').success).toBe(false);
    expect(prose(3).safeParse('four').success).toBe(false);
  });
});

describe('a file reference', () => {
  const notPlain = [
    '/etc/passwd',
    '../x',
    'a/../b',
    './a',
    'a/./b',
    'a//b',
    'a/',
    '',
    'a\\b',
    'C:/x',
    'file:x',
    'https://x',
    'a*',
    'a?',
    'a[b]',
    'a\0',
    'x'.repeat(4097),
  ];
  it('I22 is refused when it is no plain path inside the workspace', () => {
    expect(notPlain.filter((path) => RelativePath.safeParse(path).success)).toEqual([]);
  });

  it('may be any plain path', () => {
    for (const path of ['a', 'a/b.txt', '.github/x', 'a b/ü', '..a/b..'])
      expect(RelativePath.safeParse(path).success).toBe(true);
  });

  it('I22 stands once in a list', () => {
    expect(FileReferences.safeParse([{ path: 'a' }, { path: 'a', description: 'again' }]).success).toBe(false);
    expect(FileReferences.safeParse([{ path: 'a' }, { path: 'b' }]).success).toBe(true);
  });
});
