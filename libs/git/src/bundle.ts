import { open } from 'node:fs/promises';
import { FarmError } from '#contracts';
import { type GitCall, gitToFile, type WrittenFile } from './git.js';
import { isOid, type Oid } from './oid.js';
import { submodulesRef } from './submodules-ref.js';

/** The ref of every bundle of ours. */
export const bundleRef = 'refs/longshore/base';

interface BundleWanted {
  readonly commit: Oid;
  /** Commits that the reader has; with none the bundle holds the whole history. */
  readonly have?: readonly Oid[];
  /** Goes along under a ref of its own (see `pinSubmodules`). */
  readonly submodules?: Oid;
  readonly path: string;
  readonly maxBytes: number;
  /** Sends loose objects as they are: on 20,000 of them a search for deltas takes four times as long as the rest. */
  readonly quick?: boolean;
}

/**
 * Writes a bundle of a commit's history with the ref `refs/longshore/base`. We write the three lines of the header
 * ourselves, because `git bundle` names only refs that exist.
 */
export async function writeBundle(call: GitCall, wanted: BundleWanted): Promise<WrittenFile> {
  const have = wanted.have ?? [];
  const submodules = wanted.submodules === undefined ? [] : [wanted.submodules];
  const refs = [`${wanted.commit} ${bundleRef}`, ...submodules.map((oid) => `${oid} ${submodulesRef}`)];
  const head = ['# v2 git bundle', ...have.map((oid) => `-${oid} `), ...refs, '', ''].join('\n');
  const revisions = [wanted.commit, ...submodules, ...have.map((oid) => `^${oid}`), ''].join('\n');
  const thin = have.length === 0 ? [] : ['--thin'];
  const window = wanted.quick === true ? ['--window=0'] : [];
  return gitToFile(
    ['pack-objects', '--quiet', '--revs', ...thin, ...window, '--delta-base-offset', '--stdout'],
    { ...call, input: revisions },
    { path: wanted.path, maxBytes: wanted.maxBytes, head },
  );
}

export interface BundleHeader {
  readonly refs: readonly { readonly name: string; readonly oid: Oid }[];
  /** Commits that a reader must have. */
  readonly prerequisites: readonly Oid[];
  /** Where the pack starts in the file. */
  readonly packOffset: number;
}

const headerBytes = 64 * 1024;

/**
 * Reads what a bundle says about itself.
 *
 * @throws FarmError `source_refused` when the file is not a bundle that we can take (damaged, sha256, filtered)
 */
export async function readBundleHeader(path: string): Promise<BundleHeader> {
  const handle = await open(path, 'r');
  try {
    const start = Buffer.alloc(headerBytes);
    const { bytesRead } = await handle.read(start, 0, headerBytes, 0);
    return parseHeader(start.toString('latin1', 0, bytesRead));
  } finally {
    await handle.close();
  }
}

function parseHeader(start: string): BundleHeader {
  const end = start.indexOf('\n\n');
  const [signature, ...lines] = start.slice(0, Math.max(end, 0)).split('\n');
  if (signature !== '# v2 git bundle' && signature !== '# v3 git bundle')
    throw refused('The file is not a git bundle.');
  const refs: { name: string; oid: Oid }[] = [];
  const prerequisites: Oid[] = [];
  for (const line of lines) {
    if (line.startsWith('@')) {
      if (line === '@object-format=sha1') continue;
      throw refused('The bundle is partial or of another object format.');
    }
    const prerequisite = line.startsWith('-');
    const [oid = '', name = ''] = line.slice(prerequisite ? 1 : 0).split(' ', 2);
    if (!isOid(oid)) throw refused('The bundle is damaged.');
    if (prerequisite) prerequisites.push(oid);
    else refs.push({ name, oid });
  }
  return { refs, prerequisites, packOffset: end + 2 };
}

const refused = (why: string): FarmError => new FarmError('source_refused', why);
