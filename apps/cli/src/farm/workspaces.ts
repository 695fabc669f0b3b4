import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { z } from 'zod';
import { childEnvironment } from '../services/child-environment.js';
import { programOf } from './programs.js';

const BackendProof = z.strictObject({
  backend: z.enum(['overlay', 'reflink', 'clone']),
  missing: z.string().optional(),
});
type BackendProof = z.output<typeof BackendProof>;

/**
 * Tries each backend of workspaces on the disk that the farm's data lies on, or will lie on; nothing of it stays. Throws where the
 * proof itself cannot be run.
 */
export async function proveWorkspaces(data: string): Promise<readonly BackendProof[]> {
  const main = programOf('worker', 'workspace/layers/prove-backends-main');
  const folder = await mkdtemp(join(nearestThere(data), '.longshore-doctor-'));
  try {
    const options = { env: childEnvironment(), extendEnv: false, stdin: 'ignore', timeout: 60_000 } as const;
    const { stdout } = await execa(process.execPath, [main, folder], options);
    const said: unknown = JSON.parse(stdout);
    return z.array(BackendProof).parse(said);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function nearestThere(path: string): string {
  for (let folder = path; ; folder = dirname(folder))
    if (existsSync(folder) || folder === dirname(folder)) return folder;
}
