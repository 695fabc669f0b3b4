import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { repoAdd } from '#contracts';
import { Farm } from '../support/farm.js';
import { anHttpsOrigin, type HttpsOrigin, lfsPass, lfsPointer } from '../support/git-origin.js';
import { aRepository } from '../support/repositories.js';

let origin: HttpsOrigin;
let farm: Farm;
beforeAll(async () => {
  origin = await anHttpsOrigin();
  // the farm's processes ask the name server of this machine, which knows no origin under test
  origin.lfsPlace = (oid) => ({ href: `https://127.0.0.1:${origin.port}/lfs-objects/${oid}`, header: lfsPass });
  farm = await Farm.start({
    workers: ['north'],
    env: { LONGSHORE_SOURCE_HOSTS: '127.0.0.1', LONGSHORE_SOURCE_CA_FILE: origin.caFile },
  });
});
afterAll(() => farm.stop());

describe('a Task from a repository whose files git-lfs keeps', () => {
  it('works on the contents and verifies with them, and hands the unchanged ones in as the pointers that they were', async () => {
    const content = Buffer.alloc(3_000_000, 'the real content ');
    const oid = createHash('sha256').update(content).digest('hex');
    const pointer = lfsPointer(origin, content);
    const files = {
      '.gitattributes': '*.bin filter=lfs diff=lfs merge=lfs -text\n',
      'data.bin': pointer,
      'other.bin': lfsPointer(origin, Buffer.from('to be changed')),
    };
    origin.publish('app', aRepository(files));
    const url = `https://127.0.0.1:${origin.port}/app.git`;
    await farm.client.call(repoAdd, { name: 'app', url, fetch: { lfs: true } });
    const task = await farm.startTask(
      `steps:
  - run: "sha256sum data.bin | cut -c1-64 > seen.txt; git status --porcelain -- data.bin other.bin >> seen.txt"
  - write: {path: other.bin, content: "changed"}
  - call: {operation: checkpoint, input: {outcome: green, summary: Done}}`,
      { repository: { name: 'app' }, verify: `test "$(sha256sum data.bin | cut -c1-64)" = ${oid}` },
    );
    const { result } = await farm.until(task);
    expect(result).toMatchObject({ outcome: 'green', verified: true });
    expect(result?.files_changed.map(({ path }) => path).toSorted()).toEqual(['other.bin', 'seen.txt']);
    expect(await farm.fileOf(task, 'seen.txt')).toBe(oid);
    expect(await farm.fileOf(task, 'data.bin')).toBe(pointer.trim());
    expect(await farm.fileOf(task, 'other.bin')).toBe('changed');
    expect(result?.isolation?.reasons).toContainEqual(expect.stringMatching(/^git-lfs: .*whole.*other\.bin$/));
  });
});
