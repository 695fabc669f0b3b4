import { FarmError } from '#contracts';
import { git, gitLines } from '../git.js';
import { type GitLimits, gitLimits } from '../git-limits.js';
import type { Oid } from '../oid.js';

/** What a commit points to and does not hold. */
export interface SourceReport {
  /** Files that git-lfs keeps elsewhere: the commit holds pointers. */
  readonly lfs: { readonly files: number; readonly bytes: number; readonly paths: readonly string[] };
  readonly submodules: readonly {
    readonly path: string;
    readonly commit: Oid;
    /** As .gitmodules says it; a stranger's text. */
    readonly url: string | undefined;
  }[];
}

interface Entry {
  readonly mode: string;
  readonly oid: Oid;
  readonly path: string;
}

const pathsMost = 100;
const submodulesMost = 100;
/** A pointer is three short lines. */
const pointerBytes = { least: 100, most: 1024 };

/**
 * Finds LFS pointers and submodules of a commit. Objects that are not there are passed over, so that it also reads what a partial
 * fetch brought. Runs no filter and fetches nothing.
 */
export async function inspectSource(
  gitDir: string,
  commit: Oid,
  changed: Partial<GitLimits> = {},
): Promise<SourceReport> {
  const limits = gitLimits(changed);
  const links: Entry[] = [];
  const attributes: Oid[] = [];
  const files: Entry[] = [];
  for await (const entry of entriesOf(gitDir, commit, limits)) {
    if (entry.mode === '160000') links.push(entry);
    else if (entry.mode !== '120000') files.push(entry);
    if (entry.path === '.gitattributes' || entry.path.endsWith('/.gitattributes')) attributes.push(entry.oid);
  }
  const tracked = await anyHolds(gitDir, attributes, /(^|\s)filter=lfs(\s|$)/m, limits);
  return {
    lfs: tracked ? await findPointers(gitDir, files, limits) : { files: 0, bytes: 0, paths: [] },
    submodules: links.length === 0 ? [] : await nameSubmodules(gitDir, commit, links, limits),
  };
}

/**
 * Links to submodules of a commit, as its own .gitmodules names their URLs: read as a blob, and nothing of it is run.
 *
 * @throws FarmError `source_refused` where there are more than `most`
 */
export async function listSubmodules(
  gitDir: string,
  commit: Oid,
  most: number,
  changed: Partial<GitLimits> = {},
): Promise<SourceReport['submodules']> {
  const limits = gitLimits(changed);
  const links: Entry[] = [];
  for await (const entry of entriesOf(gitDir, commit, limits)) {
    if (entry.mode !== '160000') continue;
    links.push(entry);
    if (links.length > most)
      throw new FarmError('source_refused', 'The repository has more submodules than the limit.', {
        hint: 'Register it without --submodules.',
      });
  }
  return links.length === 0 ? [] : nameSubmodules(gitDir, commit, links, limits);
}

/** One line for each: `-z` would come as one line for all, and a path with a line end is quoted here and found nowhere. */
async function* entriesOf(gitDir: string, commit: Oid, limits: GitLimits): AsyncGenerator<Entry> {
  const call = { gitDir, limits, config: { 'core.quotePath': 'false' } };
  for await (const line of gitLines(['ls-tree', '-r', '--full-tree', commit], call)) {
    const [, mode = '', oid = '', path = ''] = /^(\d{6}) \w+ ([0-9a-f]{40})\t(.*)$/.exec(line) ?? [];
    if (oid !== '') yield { mode, oid, path };
  }
}

async function anyHolds(gitDir: string, oids: readonly Oid[], what: RegExp, limits: GitLimits): Promise<boolean> {
  for (const oid of new Set(oids)) {
    const blob = await git(['cat-file', 'blob', oid], { gitDir, limits, accept: 'any' });
    if (blob.exitCode === 0 && what.test(blob.text)) return true;
  }
  return false;
}

async function findPointers(gitDir: string, files: readonly Entry[], limits: GitLimits): Promise<SourceReport['lfs']> {
  const small = await smallOnes(gitDir, new Set(files.map(({ oid }) => oid)), limits);
  const sizes = await pointerSizes(gitDir, small, limits);
  const found = files.filter(({ oid }) => sizes.has(oid));
  return {
    files: found.length,
    bytes: found.reduce((sum, { oid }) => sum + (sizes.get(oid) ?? 0), 0),
    paths: found.slice(0, pathsMost).map(({ path }) => path),
  };
}

async function smallOnes(gitDir: string, oids: ReadonlySet<Oid>, limits: GitLimits): Promise<readonly Oid[]> {
  const found: Oid[] = [];
  const input = [...oids, ''].join('\n');
  const sizes = gitLines(['cat-file', '--buffer', '--batch-check=%(objectname) %(objectsize)'], {
    gitDir,
    limits,
    input,
  });
  for await (const line of sizes) {
    const [oid = '', size] = line.split(' ');
    const bytes = Number(size);
    if (bytes >= pointerBytes.least && bytes <= pointerBytes.most) found.push(oid);
  }
  return found;
}

/** Size of the file behind each pointer. */
async function pointerSizes(
  gitDir: string,
  oids: readonly Oid[],
  limits: GitLimits,
): Promise<ReadonlyMap<Oid, number>> {
  const found = new Map<Oid, number>();
  if (oids.length === 0) return found;
  let oid = '';
  let isPointer = false;
  const lines = gitLines(['cat-file', '--buffer', '--batch'], { gitDir, limits, input: [...oids, ''].join('\n') });
  for await (const line of lines) {
    const head = /^([0-9a-f]{40}) blob \d+$/.exec(line);
    if (head) {
      oid = head[1] ?? '';
      isPointer = false;
      continue;
    }
    if (line === 'version https://git-lfs.github.com/spec/v1') isPointer = true;
    const size = /^size (\d{1,15})$/.exec(line)?.[1];
    if (isPointer && size !== undefined) found.set(oid, Number(size));
  }
  return found;
}

async function nameSubmodules(
  gitDir: string,
  commit: Oid,
  links: readonly Entry[],
  limits: GitLimits,
): Promise<SourceReport['submodules']> {
  const answer = await git(['config', '--blob', `${commit}:.gitmodules`, '--null', '--list'], {
    gitDir,
    limits,
    accept: 'any',
  });
  const urls = new Map<string, string>();
  const paths = new Map<string, string>();
  for (const pair of answer.exitCode === 0 ? answer.stdout.toString().split('\0') : []) {
    const [, name = '', what = '', value = ''] = /^submodule\.([^\n]+)\.(path|url)\n([\s\S]*)$/.exec(pair) ?? [];
    if (what === 'path') paths.set(value, name);
    if (what === 'url') urls.set(name, value.slice(0, 2048));
  }
  return links
    .slice(0, submodulesMost)
    .map(({ path, oid }) => ({ path, commit: oid, url: urls.get(paths.get(path) ?? '') }));
}
