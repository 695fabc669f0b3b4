import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aRepository } from '../../../../test/support/repositories.js';
import { aTeamFarm, type TeamFarm } from '../../../../test/support/team-farm.js';
import { uploadedSource } from '../../../../test/support/uploaded-source.js';

let farm: TeamFarm;
beforeAll(async () => {
  farm = await aTeamFarm();
  await farm.workflow();
});
afterAll(() => farm.close());

/** A checkout with a file, a folder and a symbolic link to each; uploaded. */
async function aSource() {
  const dir = aRepository({ 'docs/plan.md': 'p\n', 'a.txt': 'a\n' });
  symlinkSync('a.txt', join(dir, 'link.txt'));
  symlinkSync('docs', join(dir, 'way'));
  return await uploadedSource(farm, dir);
}
const tasks = async () => (await farm.sql<{ n: number }>('select count(*)::int as n from task'))[0]?.n;
const wrong = { code: 'invalid_task_path' };

describe('the files that a Task names', () => {
  it('O12 come to the lead with what is said of them', async () => {
    const files = [{ path: 'docs/plan.md', description: 'The plan' }, { path: 'a.txt' }];
    const { worker } = await farm.alone({ source: await aSource(), files });
    const north = worker('north');
    expect((await north.context(await north.begin())).assignment.files).toEqual(files);
  });

  it('O12 I22 are regular files of what it starts from: else nothing is written, and each is named by its place', async () => {
    const source = await aSource();
    const before = await tasks();
    const named = ['a.txt', 'docs', 'link.txt', 'way/plan.md', 'none.txt'].map((path) => ({ path }));
    await expect(farm.start({ source, files: named })).rejects.toMatchObject({
      ...wrong,
      fields: [
        { path: '/files/1/path', rule: 'directory' },
        { path: '/files/2/path', rule: 'symlink' },
        { path: '/files/3/path', rule: 'missing' },
        { path: '/files/4/path', rule: 'missing' },
      ],
    });
    await expect(farm.start({ files: [{ path: 'a.txt' }] })).rejects.toMatchObject(wrong);
    expect(await tasks()).toBe(before);
    const twice = [{ path: 'a.txt' }, { path: 'a.txt' }];
    for (const files of [twice, [{ path: '../a' }], [{ path: '/etc/passwd' }], [{ path: 'a\\b' }], [{ path: '*.md' }]])
      await expect(farm.start({ source, files })).rejects.toMatchObject({ name: 'ZodError' });
  });
});
