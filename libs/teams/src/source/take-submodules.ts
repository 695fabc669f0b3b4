import { FarmError, limits } from '#contracts';
import { commitOf, fetchMirror, listSubmodules, type ObjectStore, pinSubmodules, withRemote } from '#git';
import type { TeamParts } from '../parts.js';
import type { RepositoryRow, RepositorySource } from '../rows.js';
import { giveToStore, tooSlow } from './give-to-store.js';
import { inMirror, scratchOf } from './mirrors.js';
import { openRemote } from './open-remote.js';
import { repositoryOf } from './repository-of.js';
import { readSourceUrl, type SourceUrl, sameOrigin } from './source-url.js';
import { submoduleUrl } from './submodule-url.js';

export interface FetchedSubmodule {
  /** From the root of the workspace. */
  readonly path: string;
  readonly commit: string;
}

interface Asked {
  readonly source: RepositorySource;
  readonly base: string;
  readonly signal: AbortSignal;
}

/**
 * Fetches the submodules of a base, and theirs, where the repository says so: each by a mirror of its own and at the commit that
 * the tree names, into the Task's store (H19). Every URL is judged by the rules of a source, and only one at the door of the
 * repository's own is shown its credential (H30). Pins what came, or that nothing did.
 *
 * @returns undefined while another Task fetches from one of the origins
 * @throws FarmError source_refused, source_unavailable, disk_full, naming the submodule and the way out
 */
export async function takeSubmodules(
  parts: TeamParts,
  store: ObjectStore,
  { source, base, signal }: Asked,
): Promise<readonly FetchedSubmodule[] | undefined> {
  // read again: the first contact may have brought host keys since
  const row = await repositoryOf(parts.database, source);
  const fetched = row?.settings.fetch?.submodules === true ? await new Walk(parts, store, row, signal).run(base) : [];
  if (fetched === undefined) return undefined;
  await pinSubmodules(
    store,
    fetched.map(({ commit }) => commit),
  );
  return fetched;
}

interface Holder {
  readonly path: string;
  readonly commit: string;
  readonly url: SourceUrl;
}

class Walk {
  private readonly fetched: FetchedSubmodule[] = [];
  private readonly given = new Set<string>();
  private bytes = 0;

  constructor(
    private readonly parts: TeamParts,
    private readonly store: ObjectStore,
    private readonly row: RepositoryRow,
    private readonly signal: AbortSignal,
  ) {}

  /** Level by level, so that it ends where the limit is. */
  async run(base: string): Promise<readonly FetchedSubmodule[] | undefined> {
    let level: readonly Holder[] = [{ path: '', commit: base, url: readSourceUrl(this.row.url) }];
    for (let depth = 0; level.length > 0; depth += 1) {
      const next: Holder[] = [];
      for (const holder of level) {
        const found = await this.below(holder, depth);
        if (found === undefined) return undefined;
        next.push(...found);
      }
      level = next;
    }
    return this.fetched;
  }

  private async below(holder: Holder, depth: number): Promise<readonly Holder[] | undefined> {
    const room = limits.submodules - this.fetched.length;
    const links = await listSubmodules(this.store.dir, holder.commit, room, this.parts.gitLimits ?? {});
    const [first] = links;
    if (first !== undefined && depth >= limits.submoduleLevels)
      throw refused(pathIn(holder, first.path), `lies deeper than ${limits.submoduleLevels} levels`);
    const found: Holder[] = [];
    for (const { path, commit, url } of links) {
      const at = pathIn(holder, path);
      const next = { path: at, commit, url: this.judged(at, holder, url) };
      const taken = await this.take(next).catch((error: unknown) => {
        throw named(at, error);
      });
      if (!taken) return undefined;
      this.fetched.push({ path: at, commit });
      found.push(next);
    }
    return found;
  }

  private judged(at: string, holder: Holder, given: string | undefined): SourceUrl {
    if (given === undefined) throw refused(at, 'has no URL in .gitmodules');
    let url: SourceUrl | string;
    try {
      url = submoduleUrl(holder.url, given);
    } catch (error) {
      throw named(at, error);
    }
    if (typeof url === 'string') throw refused(at, `can not be fetched: ${url}`);
    if (url.protocol === 'ssh' && !this.opens(url))
      throw refused(at, 'is reached by ssh at another host than the repository, for which there is no key');
    return url;
  }

  private opens(url: SourceUrl): boolean {
    return sameOrigin(readSourceUrl(this.row.url), url);
  }

  /** False while another fetch from the same origin is under way. */
  private async take({ commit, url }: Holder): Promise<boolean> {
    const what = `${url.url} ${commit}`;
    if (this.given.has(what)) return true;
    const bare = { credential: null, credential_kind: 'none', host_keys: null } as const;
    const row: RepositoryRow = { ...this.row, url: url.url, ...(this.opens(url) ? {} : bare) };
    const { remote, mirror } = await openRemote(this.parts, { row });
    const scratch = await scratchOf(this.parts);
    const gitLimits = this.parts.gitLimits ?? {};
    const bytes = await inMirror(this.parts, mirror, (dir) =>
      withRemote(remote, scratch, async (call) => {
        await fetchMirror(dir, call, { limits: gitLimits, signal: this.signal }).catch(tooSlow);
        await commitOf(dir, commit).catch(withoutCommit);
        return giveToStore(this.store, { dir, scratch, commit, limits: gitLimits });
      }),
    );
    if (bytes === undefined) return false;
    this.bytes += bytes;
    if (this.bytes > limits.submodulesBytes)
      throw new FarmError('source_refused', 'it and the submodules before it are larger than their limit together.');
    this.given.add(what);
    return true;
  }
}

const pathIn = ({ path }: Holder, name: string): string => (path === '' ? name : `${path}/${name}`);

function withoutCommit(error: unknown): never {
  if (!(error instanceof FarmError) || error.code !== 'source_unavailable') throw error;
  throw new FarmError(
    'source_unavailable',
    'no branch or tag of its origin holds the commit that the repository names.',
    { hint: 'Push that commit there, then resume the Task.' },
  );
}

const without = 'Or leave submodules empty: longshore repo add --replace --no-submodules.';

/** The path is the tree's own text: shown short and without what could move a terminal. */
function shown(path: string): string {
  return path.replaceAll(/\p{Cc}/gu, ' ').slice(0, 200);
}

function refused(path: string, why: string): FarmError {
  return new FarmError('source_refused', `The submodule ${shown(path)} ${why}.`, {
    hint: `Mend .gitmodules in the repository. ${without}`,
  });
}

/** The same fault, with the submodule that has it. A fault of the farm, and a cancel, stay as they are. */
function named(path: string, error: unknown): unknown {
  if (!(error instanceof FarmError) || !['source_refused', 'source_unavailable'].includes(error.code)) return error;
  return new FarmError(error.code, `The submodule ${shown(path)} can not be fetched: ${error.detail}`, {
    hint: error.hint === undefined ? without : `${error.hint} ${without}`,
    cause: error,
  });
}
