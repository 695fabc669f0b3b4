import { git } from '../git.js';
import { type GitLimits, gitLimits } from '../git-limits.js';
import type { RemoteCall } from './remote.js';

interface OriginFetch {
  /** More options of `git fetch`. */
  readonly options: readonly string[];
  readonly refspecs: readonly string[];
  readonly config?: Readonly<Record<string, string>>;
  readonly limits?: Partial<GitLimits>;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Fetches from an origin into a bare repository, checked as it comes, with no file larger than a source may be. It follows neither
 * tags nor submodules by itself and leaves no trace beside the refs. Answers how it ended, whatever that was.
 */
export function fetchOrigin(dir: string, { url, call }: RemoteCall, fetch: OriginFetch) {
  const { options, refspecs, config, limits, signal } = fetch;
  const { cwd: _, ...how } = call;
  return git(
    [
      'fetch',
      '--quiet',
      ...options,
      '--no-tags',
      '--no-write-fetch-head',
      '--no-recurse-submodules',
      '--no-auto-maintenance',
      '--',
      url,
      ...refspecs,
    ],
    {
      ...how,
      gitDir: dir,
      // one pack for each fetch, so that the limit of a file is the limit of what came
      config: { ...call.config, 'fetch.unpackLimit': '1', 'fetch.fsckObjects': 'true', ...config },
      accept: 'any',
      durable: false,
      maxFileBytes: gitLimits(limits).sourceBytes,
      ...(limits && { limits }),
      ...(signal && { signal }),
    },
  );
}
