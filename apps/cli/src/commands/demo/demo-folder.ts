import { mkdir, mkdtemp, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { execa } from 'execa';
import { FarmError } from '#contracts';
import { programOf } from '../../farm/programs.js';
import { childEnvironment } from '../../services/child-environment.js';

/** A folder for the farm and one for the library, below a new temporary one or the one that the person names. */
export interface DemoFolder {
  readonly root: string;
  readonly data: string;
  readonly library: string;
  remove(): Promise<void>;
}

/** FarmError misconfigured when the named folder holds something: it goes at the end, and must not be somebody's. */
export async function makeDemoFolder(asked: string | undefined): Promise<DemoFolder> {
  const root = asked === undefined ? await mkdtemp(join(tmpdir(), 'longshore-demo-')) : resolve(asked);
  await mkdir(root, { recursive: true, mode: 0o700 });
  if ((await readdir(root)).length > 0) {
    throw new FarmError('misconfigured', `The folder ${root} is not empty.`, { hint: 'Give --data a new folder.' });
  }
  return {
    root,
    data: join(root, 'farm'),
    library: join(root, 'slug'),
    // by the worker's own program: one that was killed leaves mounts, and its agent files that only it knows to remove
    remove: async () => {
      const program = programOf('worker', 'workspace/remove-folder-main');
      await execa(process.execPath, [program, root], { env: childEnvironment(), extendEnv: false, stdin: 'ignore' });
    },
  };
}
