import { FarmError } from '#contracts';
import type { SourceUrl } from '../../source/source-url.js';

/** Where a repository's forge is, as far as its URL tells. */
export interface ForgePlace {
  readonly host: string;
  readonly apiHost: string;
  readonly apiPort: number;
  /** `team/app`; with more folders at GitLab. */
  readonly project: string;
}

/** @throws source_refused */
export function placeOf(url: SourceUrl): ForgePlace {
  if (url.protocol === 'file')
    throw new FarmError('source_refused', 'A folder has no pull requests: the repository has no forge.');
  const path = url.url.replace(/^(https|ssh):\/\/[^/]+\//, '').replace(/^[^/:]+:/, '');
  const project = path.replace(/^\/+|\/+$/g, '').replace(/\.git$/, '');
  if (!project.includes('/'))
    throw new FarmError('source_refused', 'The URL of the repository does not name an owner and a project.');
  // ssh has a port of its own; the API of the same host is at the one of https
  const port = url.protocol === 'https' ? url.port : 443;
  const isGithub = url.host === 'github.com' || url.host === 'ssh.github.com';
  return {
    host: isGithub ? 'github.com' : url.host,
    apiHost: isGithub ? 'api.github.com' : url.host,
    apiPort: isGithub ? 443 : port,
    project,
  };
}
