import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { bundleCheckout } from '#git';
import { person, type TeamFarm } from './team-farm.js';
import { tempDir } from './temp-dir.js';

/** The checkout in this folder, uploaded as the source of a Task. */
export async function uploadedSource(farm: TeamFarm, dir: string) {
  const made = await bundleCheckout({ dir, out: join(tempDir('bundle'), 'source.bundle') });
  await farm.teams.roads.takeSource(person, made.sha256, createReadStream(made.bundle));
  const { sha256, head, dirty } = made;
  return { kind: 'bundle' as const, sha256, commit: made.base, head, dirty };
}
