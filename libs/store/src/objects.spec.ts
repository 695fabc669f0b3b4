import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';
import { tempDir } from '../../../test/support/temp-dir.js';
import { openObjects } from './objects.js';

const plenty = { bytes: 1_000_000 };

describe('the object store', () => {
  it('is create-only: the second writer of a name is told and changes nothing', async () => {
    const objects = openObjects(tempDir());
    const [first, second] = await Promise.all([
      objects.put('a/b', Readable.from(['one']), plenty),
      objects.put('a/b', Readable.from(['two']), plenty),
    ]);
    expect([first.created, second.created].filter(Boolean)).toHaveLength(1);
    const kept = await text(objects.read('a/b'));
    expect(kept).toBe(first.created ? 'one' : 'two');
  });

  it('leaves nothing of a body that breaks off or is over the limit', async () => {
    const root = tempDir();
    const objects = openObjects(root);
    const broken = Readable.from(
      (function* () {
        yield 'half';
        throw new Error('the line went dead');
      })(),
    );
    await expect(objects.put('a/broken', broken, plenty)).rejects.toThrow('the line went dead');
    await expect(objects.put('a/fat', Readable.from(['x'.repeat(11)]), { bytes: 10 })).rejects.toMatchObject({
      code: 'too_large',
    });
    expect(await readdir(`${root}/a`)).toEqual([]);
    expect(await objects.size('a/broken')).toBeUndefined();
  });

  it('removes what a process left half written that died a day ago, and nobody else’s', async () => {
    const root = tempDir();
    const incoming = `${root}/.incoming`;
    await mkdir(incoming);
    for (const [name, hours] of [
      ['old', 25],
      ['young', 23],
    ] as const) {
      await writeFile(`${incoming}/${name}`, 'half');
      const then = new Date(Date.now() - hours * 3_600_000);
      await utimes(`${incoming}/${name}`, then, then);
    }
    await openObjects(root).put('a/b', Readable.from(['whole']), plenty);
    expect(await readdir(incoming)).toEqual(['young']);
  });

  it('reads a range, so that a download goes on where it broke off', async () => {
    const objects = openObjects(tempDir());
    await objects.put('bytes', Readable.from([Buffer.from([0, 1, 2, 3, 4])]), plenty);
    expect([...(await buffer(objects.read('bytes', { start: 2, end: 3 })))]).toEqual([2, 3]);
  });

  it('refuses a name that leaves its folder', () => {
    const objects = openObjects(tempDir());
    for (const name of ['../x', 'a/../../x', '/etc/passwd', 'a//b', '.hidden', '']) {
      expect(() => objects.path(name)).toThrow('plain segments');
    }
  });
});
