import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { aRepository, plainGit } from '../../../../test/support/repositories.js';
import { tempDir } from '../../../../test/support/temp-dir.js';
import { judgedFolder } from './local-folder.js';

let root: string;
let data: string;
beforeEach(() => {
  root = tempDir('root');
  data = tempDir('data');
});

const judge = (path: string, roots: readonly string[] = [root]) =>
  judgedFolder(path, { privateHosts: [], roots, dataFolder: data, mirrorsFolder: join(data, 'mirrors') });
const refused = (detail: string) => ({ code: 'source_refused', detail: expect.stringContaining(detail) });

function placed(name: string): string {
  const path = join(root, name);
  renameSync(aRepository(), path);
  return path;
}

describe('a folder of the controller as a source', () => {
  it('is taken inside a root that an admin opened, as a checkout or bare', async () => {
    const path = placed('app');
    expect(await judge(path)).toBe(path);
    plainGit(root, ['init', '-q', '--bare', 'bare.git']);
    expect(await judge(join(root, 'bare.git'))).toBe(join(root, 'bare.git'));
  });

  it('H30 is refused where no root is open, outside all roots, and through a link out of one', async () => {
    const path = placed('app');
    const outside = aRepository();
    await expect(judge(path, [])).rejects.toMatchObject(refused('No folder of this machine is open'));
    await expect(judge(outside)).rejects.toMatchObject(refused('does not lie in one that is open'));
    symlinkSync(outside, join(root, 'link'));
    await expect(judge(join(root, 'link'))).rejects.toMatchObject(refused('does not lie in one that is open'));
    await expect(judge(`${root}/../${'x'}`)).rejects.toMatchObject({ code: 'source_unavailable' });
    mkdirSync(`${root}-beside`);
    await expect(judge(`${root}-beside`)).rejects.toMatchObject(refused('does not lie in one that is open'));
  });

  it('H30 is never the data folder, one in it, one around it, or a link to it', async () => {
    const inside = join(data, 'tasks', 't_1', 'store.git');
    mkdirSync(inside, { recursive: true });
    symlinkSync(inside, join(root, 'store'));
    for (const path of [data, inside, join(root, 'store'), '/'])
      await expect(judge(path, ['/'])).rejects.toMatchObject(refused('data folder'));
  });

  it('H30 borrows nothing: no gitfile, no objects elsewhere, no alternates', async () => {
    const victim = aRepository();
    const gitfile = join(root, 'gitfile');
    mkdirSync(gitfile);
    writeFileSync(join(gitfile, '.git'), `gitdir: ${victim}/.git\n`);
    await expect(judge(gitfile)).rejects.toMatchObject(refused('no git repository of its own'));

    const linked = placed('linked');
    renameSync(join(linked, '.git', 'objects'), join(tempDir('objects'), 'objects'));
    symlinkSync(join(victim, '.git', 'objects'), join(linked, '.git', 'objects'));
    await expect(judge(linked)).rejects.toMatchObject(refused('in another place'));

    const borrowing = placed('borrowing');
    writeFileSync(join(borrowing, '.git', 'objects', 'info', 'alternates'), `${victim}/.git/objects\n`);
    await expect(judge(borrowing)).rejects.toMatchObject(refused('borrows objects'));
    await expect(judge(root)).rejects.toMatchObject(refused('no git repository of its own'));
  });
});
