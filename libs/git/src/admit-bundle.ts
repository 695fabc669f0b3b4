import type { BundleHeader } from './bundle.js';
import type { GitLimits } from './git-limits.js';
import { indexPack, inQuarantine } from './quarantine.js';

interface Admission {
  readonly gitDir: string;
  /** Where it is unpacked and judged. */
  readonly quarantineFolder: string;
  readonly path: string;
  readonly header: BundleHeader;
  readonly thin: boolean;
  readonly limits: GitLimits;
}

/**
 * Takes the objects of a bundle of our controller into a GIT_DIR of ours. Not synced: a workspace that is lost is made again.
 *
 * @throws FarmError `source_refused` for a damaged bundle · `disk_full` · `timeout`
 */
export async function admitBundle({ gitDir, quarantineFolder, path, header, thin, limits }: Admission): Promise<void> {
  await inQuarantine(gitDir, quarantineFolder, async (quarantine) => {
    await indexPack({
      gitDir,
      quarantine,
      pack: path,
      offset: header.packOffset,
      thin,
      maxBytes: limits.storeBytes,
      maxObjects: limits.sourceObjects,
      strict: false,
      code: 'source_refused',
      limits,
      durable: false,
    });
    await quarantine.admit();
  });
}
