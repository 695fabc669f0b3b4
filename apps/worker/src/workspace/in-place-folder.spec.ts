import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { tempDir } from '../../../../test/support/temp-dir.js';
import { judgeFolder } from './in-place-folder.js';

/** A root that its owner allows, with a folder of the worker in it. */
function aMachine() {
  const root = realpathSync(tempDir('srv'));
  for (const path of ['app/src', '.ssh', '.config/deep', 'worker/kept'])
    mkdirSync(join(root, path), { recursive: true });
  writeFileSync(join(root, 'file'), '');
  symlinkSync('app', join(root, 'link'));
  return { root, home: join(root, 'worker') };
}
const refused = (said: string) => ({ code: 'workspace_unavailable', detail: expect.stringContaining(said) });

describe('a folder that is worked in as it is', () => {
  it('H27 lies in a root that its owner allows; none is allowed by default', async () => {
    const { root, home } = aMachine();
    const app = join(root, 'app');
    await expect(judgeFolder(app, { roots: [], home })).rejects.toMatchObject(refused('lets nobody'));
    await expect(judgeFolder(app, { roots: [join(root, 'app/src')], home })).rejects.toMatchObject(refused('none of'));
    await expect(judgeFolder(app, { roots: [join(root, 'ap')], home })).rejects.toMatchObject(refused('none of'));
    for (const allowed of [root, app, join(root, 'link')])
      await expect(judgeFolder(app, { roots: [join(root, 'gone'), allowed], home })).resolves.toBeUndefined();
  });

  it('H27 hides nothing behind its name, and holds nothing that no Task may see', async () => {
    const { root, home } = aMachine();
    const judge = (path: string, roots = [root]) => judgeFolder(path, { roots, home });
    for (const path of ['~/.ssh', 'app', `${root}/app/../.ssh`, `${root}//app`, `${root}/app/`, `${root}/./app`])
      await expect(judge(path)).rejects.toMatchObject(refused('not plain'));
    for (const path of ['.ssh', '.config/deep'])
      await expect(judge(join(root, path))).rejects.toMatchObject(refused('hidden'));
    await expect(judge(join(root, '.ssh'), [join(root, '.ssh')])).resolves.toBeUndefined();
    for (const path of ['link', 'link/src'])
      await expect(judge(join(root, path))).rejects.toMatchObject(refused('symbolic link'));
    await expect(judge(join(root, 'none'))).rejects.toMatchObject(refused('not there'));
    await expect(judge(join(root, 'file'))).rejects.toMatchObject(refused('no folder'));
    for (const path of [root, home, join(home, 'kept')])
      await expect(judge(path)).rejects.toMatchObject(refused('no Task may see'));
    const house = dirname(homedir()) === '/' ? homedir() : dirname(homedir());
    await expect(judge(realpathSync(homedir()), [house])).rejects.toMatchObject(refused('no Task may see'));
  });
});
