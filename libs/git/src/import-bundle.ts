import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { FarmError } from '#contracts';
import { bundleRef, readBundleHeader } from './bundle.js';
import { git, gitLines } from './git.js';
import { type GitLimits, gitLimits } from './git-limits.js';
import type { Oid } from './oid.js';
import { checkRoom, indexPack, inQuarantine } from './quarantine.js';
import type { ObjectStore } from './store.js';

/** Faults of old histories that hurt nobody. Names like `.git` and `..` are never let pass. */
export const tolerated = [
  'zeroPaddedFilemode',
  'zeroPaddedDate',
  'badFilemode',
  'badDate',
  'badTimezone',
  'badEmail',
  'badName',
  'missingEmail',
  'missingNameBeforeEmail',
  'missingSpaceBeforeEmail',
  'missingSpaceBeforeDate',
  'multipleAuthors',
  'nulInCommit',
  'badTagName',
  'missingTaggerEntry',
];

const unshallow = 'Run `git fetch --unshallow` in the checkout and try again.';

/**
 * Takes an uploaded source into the store, in quarantine and with limits, and answers its head. The history must be complete:
 * a bundle of a shallow checkout claims to be and is not (D19). Safe to repeat.
 *
 * @throws FarmError `source_refused` naming the reason · `disk_full` · `timeout`
 */
export async function importBundle(
  store: ObjectStore,
  bundle: string,
  options: { readonly limits?: Partial<GitLimits> } = {},
): Promise<{ readonly head: Oid }> {
  const limits = gitLimits(options.limits);
  const { size } = await stat(bundle);
  if (size > limits.sourceBytes) throw refused('The source is larger than its limit.');
  const header = await readBundleHeader(bundle);
  const head = header.refs.find(({ name }) => name === bundleRef) ?? header.refs.find(({ name }) => name === 'HEAD');
  if (head === undefined) throw refused('The bundle names no head.');
  if (header.prerequisites.length > 0) throw refused('The bundle leaves a part of the history out.');
  await checkRoom(store.dir, size, limits, 'source_refused');

  return inQuarantine(store.dir, join(store.dir, 'quarantine'), async (quarantine) => {
    await indexPack({
      gitDir: store.dir,
      quarantine,
      pack: bundle,
      offset: header.packOffset,
      thin: false,
      maxBytes: limits.sourceBytes,
      maxObjects: limits.sourceObjects,
      tolerated,
      code: 'source_refused',
      limits,
    }).catch(explained);
    const walk = await git(['rev-list', '--objects', '--quiet', head.oid], {
      gitDir: store.dir,
      env: quarantine.alone,
      accept: 'any',
      limits,
    });
    if (walk.exitCode !== 0) throw incomplete();
    await checkTreeSize(store, head.oid, quarantine.alone, limits);
    await quarantine.admit();
    return { head: head.oid };
  });
}

const refused = (why: string, hint?: string): FarmError =>
  new FarmError('source_refused', why, hint === undefined ? {} : { hint });

const incomplete = (): FarmError =>
  refused('The history of the source is not complete, as in a shallow checkout.', unshallow);

/** A shallow history shows as a pack that is not connected. */
function explained(fault: unknown): never {
  if (fault instanceof FarmError && fault.code === 'source_refused' && fault.detail.includes('not connected'))
    throw incomplete();
  throw fault;
}

/** What a checkout of the head would take on every worker. */
async function checkTreeSize(
  store: ObjectStore,
  head: Oid,
  env: Readonly<Record<string, string>>,
  limits: GitLimits,
): Promise<void> {
  let bytes = 0;
  for await (const line of gitLines(['ls-tree', '-r', '--long', '--full-tree', head], {
    gitDir: store.dir,
    env,
    limits,
  })) {
    bytes += Number(/^\d+ blob [0-9a-f]+ +(\d+)\t/.exec(line)?.[1] ?? 0);
    if (bytes > limits.packInflatedBytes) throw refused('The files of the source take more than their limit.');
  }
}
