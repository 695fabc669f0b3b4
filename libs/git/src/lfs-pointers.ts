import { type BytePath, fromBytes } from './byte-path.js';
import { git } from './git.js';
import { type GitLimits, gitLimits } from './git-limits.js';
import type { Oid } from './oid.js';

/** A file of a commit whose content git-lfs keeps elsewhere. */
export interface LfsPointer {
  readonly path: BytePath;
  /** `100644` or `100755`. */
  readonly mode: string;
  /** The pointer itself. */
  readonly blob: Oid;
  /** sha256 of the content, and its size. */
  readonly oid: string;
  readonly size: number;
}

type Candidate = Pick<LfsPointer, 'path' | 'mode' | 'blob'>;

/** A pointer is three short lines. */
const pointerBytes = { least: 100, most: 1024 };
/** Blobs that are read into memory at once. */
const readAtOnce = 10_000;

/**
 * The pointers of a commit, where an attribute of it gives files to git-lfs. Runs no filter and fetches nothing (H2).
 *
 * @throws FarmError `timeout`, `too_large`
 */
export async function lfsPointers(
  gitDir: string,
  commit: Oid,
  changed: Partial<GitLimits> = {},
): Promise<readonly LfsPointer[]> {
  const limits = gitLimits(changed);
  const candidates: Candidate[] = [];
  const attributes: Oid[] = [];
  const listed = await git(['ls-tree', '-r', '-z', '--long', '--full-tree', commit], { gitDir, limits });
  for (const line of fromBytes(listed.stdout).split('\0')) {
    const [, mode = '', blob = '', size, path = ''] =
      /^(100644|100755) blob ([0-9a-f]{40}) +(\d+)\t([\s\S]+)$/.exec(line) ?? [];
    if (path === '.gitattributes' || path.endsWith('/.gitattributes')) attributes.push(blob);
    else if (Number(size) >= pointerBytes.least && Number(size) <= pointerBytes.most)
      candidates.push({ path, mode, blob });
  }
  if (!(await givesToLfs(gitDir, attributes, limits))) return [];
  const contents = await readPointers(gitDir, [...new Set(candidates.map(({ blob }) => blob))], limits);
  return candidates.flatMap((each) => {
    const content = contents.get(each.blob);
    return content === undefined ? [] : [{ ...each, ...content }];
  });
}

async function givesToLfs(gitDir: string, attributes: readonly Oid[], limits: GitLimits): Promise<boolean> {
  for (const oid of new Set(attributes)) {
    const blob = await git(['cat-file', 'blob', oid], { gitDir, limits });
    if (/(^|\s)filter=lfs(\s|$)/m.test(blob.text)) return true;
  }
  return false;
}

type Content = Pick<LfsPointer, 'oid' | 'size'>;

async function readPointers(
  gitDir: string,
  blobs: readonly Oid[],
  limits: GitLimits,
): Promise<ReadonlyMap<Oid, Content>> {
  const found = new Map<Oid, Content>();
  for (let from = 0; from < blobs.length; from += readAtOnce) {
    const some = blobs.slice(from, from + readAtOnce);
    const answer = await git(['cat-file', '--buffer', '--batch'], { gitDir, limits, input: [...some, ''].join('\n') });
    const text = fromBytes(answer.stdout);
    for (let at = 0; at < text.length; ) {
      const end = text.indexOf('\n', at);
      const [, blob = '', size = '0'] = /^([0-9a-f]{40}) blob (\d+)$/.exec(text.slice(at, end)) ?? [];
      const content = pointerIn(text.slice(end + 1, end + 1 + Number(size)));
      if (content !== undefined) found.set(blob, content);
      at = end + 1 + Number(size) + 1;
    }
  }
  return found;
}

/** As git-lfs writes it: the version first, then its keys. */
function pointerIn(text: string): Content | undefined {
  if (!text.startsWith('version https://git-lfs.github.com/spec/v1\n')) return undefined;
  const oid = /^oid sha256:([0-9a-f]{64})$/m.exec(text)?.[1];
  const size = /^size (\d{1,15})$/m.exec(text)?.[1];
  return oid === undefined || size === undefined ? undefined : { oid, size: Number(size) };
}
