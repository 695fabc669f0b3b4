import { execa } from 'execa';
import { childEnvironment } from '../../services/child-environment.js';

/** Whether a folder lies in the working tree of a git repository. What is wrong with the repository is told when it is bundled. */
export async function isInsideCheckout(folder: string): Promise<boolean> {
  const asked = await execa('git', ['rev-parse', '--is-inside-work-tree'], {
    cwd: folder,
    env: childEnvironment(),
    extendEnv: false,
    reject: false,
    stdin: 'ignore',
  });
  // "dubious ownership" is a checkout too: bundling it tells how to trust it.
  return asked.stdout === 'true' || asked.stderr.includes('dubious ownership');
}
