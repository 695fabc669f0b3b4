import { z } from 'zod';
import { FarmError, type ForgeKind, type PullRequest } from '#contracts';
import type { SourceUrl } from '../../source/source-url.js';
import type { ForgeAnswer, ForgeApi } from './forge-api.js';

export type { ForgeKind } from '#contracts';

/** Where a repository's forge is, as far as its URL tells. */
export interface ForgePlace {
  readonly host: string;
  readonly apiHost: string;
  readonly apiPort: number;
  /** `team/app`; with more folders at GitLab. */
  readonly project: string;
}

export type FoundRequest = Omit<PullRequest, 'created'>;

export interface RequestToMake {
  readonly branch: string;
  readonly target: string;
  readonly title: string;
  readonly body: string;
}

/** One repository at a forge. */
export interface Forge {
  /** The open one of a branch. */
  find(branch: string): Promise<FoundRequest | undefined>;
  /** By its number, open or not. */
  read(number: number): Promise<FoundRequest | undefined>;
  create(request: RequestToMake): Promise<FoundRequest>;
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

/** Which forge it is: by its name, else by what its API answers to who shows no token. @throws source_refused, source_unavailable */
export async function findForge(api: ForgeApi, place: ForgePlace, said: ForgeKind | undefined): Promise<Forge> {
  const kind = said ?? kindByName(place.host) ?? (await kindByAnswer(api));
  if (kind === undefined) {
    throw new FarmError(
      'source_refused',
      'The host of the repository is no forge that is known: GitHub, GitLab or Gitea.',
      {
        hint: 'Say which one it is with --forge, or open the pull request there by hand: the branch is pushed.',
      },
    );
  }
  return makers[kind](api, place);
}

function kindByName(host: string): ForgeKind | undefined {
  if (host === 'github.com') return 'github';
  if (host === 'gitlab.com') return 'gitlab';
  return host === 'codeberg.org' || host === 'gitea.com' ? 'gitea' : undefined;
}

const Version = z.object({ version: z.string() });

async function kindByAnswer(api: ForgeApi): Promise<ForgeKind | undefined> {
  const gitea = await api.ask({ method: 'GET', path: '/api/v1/version' });
  if (gitea.status === 200 && Version.safeParse(gitea.body).success) return 'gitea';
  const gitlab = await api.ask({ method: 'GET', path: '/api/v4/version' });
  if ([200, 401].includes(gitlab.status) && gitlab.body !== undefined) return 'gitlab';
  const github = await api.ask({ method: 'GET', path: '/api/v3/meta' });
  return [200, 401].includes(github.status) && github.body !== undefined ? 'github' : undefined;
}

const makers: Readonly<Record<ForgeKind, (api: ForgeApi, place: ForgePlace) => Forge>> = {
  github,
  gitlab,
  gitea,
};

const Pull = z.object({
  number: z.int(),
  html_url: z.string(),
  state: z.enum(['open', 'closed']),
  merged: z.boolean().nullish(),
  merged_at: z.string().nullish(),
  head: z.object({ ref: z.string() }).nullish(),
});

function pullOf(body: unknown): FoundRequest {
  const { number, html_url: url, state, merged, merged_at } = Pull.parse(body);
  return { number, url, state: merged === true || merged_at ? 'merged' : state };
}

/** REST, version 2022-11-28; of GitHub Enterprise under /api/v3. */
function github(api: ForgeApi, { project, apiHost }: ForgePlace): Forge {
  const root = apiHost === 'api.github.com' ? '' : '/api/v3';
  const pulls = `${root}/repos/${segments(project)}/pulls`;
  const how = {
    auth: (token: string) => ({ authorization: `Bearer ${token}` }),
    headers: { accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' },
  };
  const [owner = ''] = project.split('/');
  return {
    async find(branch) {
      const query = new URLSearchParams({ head: `${owner}:${branch}`, state: 'open' });
      const answer = await api.ask({ method: 'GET', path: `${pulls}?${query}`, ...how });
      return readList(answer).map(pullOf)[0];
    },
    read: (number) => readOne(api.ask({ method: 'GET', path: `${pulls}/${number}`, ...how }), pullOf),
    async create({ branch, target, title, body }) {
      const asked = { title, head: branch, base: target, body };
      return made(await api.ask({ method: 'POST', path: pulls, ...how, body: asked }), pullOf);
    },
  };
}

/** Gitea and Forgejo, /api/v1. */
function gitea(api: ForgeApi, { project }: ForgePlace): Forge {
  const pulls = `/api/v1/repos/${segments(project)}/pulls`;
  const how = { auth: (token: string) => ({ authorization: `token ${token}` }) };
  return {
    async find(branch) {
      // It has no filter by branch: page by page, as far as a busy repository may have open ones.
      for (let page = 1; page <= 40; page += 1) {
        const query = new URLSearchParams({ state: 'open', page: String(page), limit: '50' });
        const list = readList(await api.ask({ method: 'GET', path: `${pulls}?${query}`, ...how }));
        const there = list.find((one) => Pull.parse(one).head?.ref === branch);
        if (there !== undefined) return pullOf(there);
        if (list.length === 0) return undefined;
      }
      return undefined;
    },
    read: (number) => readOne(api.ask({ method: 'GET', path: `${pulls}/${number}`, ...how }), pullOf),
    async create({ branch, target, title, body }) {
      const asked = { title, head: branch, base: target, body };
      return made(await api.ask({ method: 'POST', path: pulls, ...how, body: asked }), pullOf);
    },
  };
}

const MergeRequest = z.object({
  iid: z.int(),
  web_url: z.string(),
  state: z.enum(['opened', 'closed', 'merged', 'locked']),
});

function mergeRequestOf(body: unknown): FoundRequest {
  const { iid, web_url: url, state } = MergeRequest.parse(body);
  return { number: iid, url, state: state === 'merged' || state === 'closed' ? state : 'open' };
}

/** REST, /api/v4; a merge request is known by its iid. */
function gitlab(api: ForgeApi, { project }: ForgePlace): Forge {
  const requests = `/api/v4/projects/${encodeURIComponent(project)}/merge_requests`;
  const how = { auth: (token: string) => ({ 'private-token': token }) };
  return {
    async find(branch) {
      const query = new URLSearchParams({ source_branch: branch, state: 'opened' });
      return readList(await api.ask({ method: 'GET', path: `${requests}?${query}`, ...how })).map(mergeRequestOf)[0];
    },
    read: (number) => readOne(api.ask({ method: 'GET', path: `${requests}/${number}`, ...how }), mergeRequestOf),
    async create({ branch, target, title, body: description }) {
      const asked = { source_branch: branch, target_branch: target, title, description };
      return made(await api.ask({ method: 'POST', path: requests, ...how, body: asked }), mergeRequestOf);
    },
  };
}

const segments = (project: string): string => project.split('/').map(encodeURIComponent).join('/');

function readList({ status, body }: ForgeAnswer): readonly unknown[] {
  if (status === 200 && Array.isArray(body)) return body;
  throw refusal(status);
}

async function readOne(
  asked: Promise<ForgeAnswer>,
  read: (body: unknown) => FoundRequest,
): Promise<FoundRequest | undefined> {
  const { status, body } = await asked;
  if (status === 404) return undefined;
  if (status !== 200) throw refusal(status);
  return understood(() => read(body));
}

function made({ status, body }: ForgeAnswer, read: (body: unknown) => FoundRequest): FoundRequest {
  if (status !== 201 && status !== 200) throw refusal(status);
  return understood(() => read(body));
}

function understood(read: () => FoundRequest): FoundRequest {
  try {
    return read();
  } catch (cause) {
    throw new FarmError('source_unavailable', 'The forge answered something that no pull request looks like.', {
      cause,
    });
  }
}

/** The forge's own words are a stranger's and stay away. */
function refusal(status: number): FarmError {
  if (status === 404)
    return new FarmError('source_refused', 'The forge has no such repository, or the token may not see it.', {
      hint: 'Check the URL of the repository and what its token may do.',
    });
  if (status >= 500 || status === 429)
    return new FarmError('source_unavailable', `The forge is not ready (${status}).`, {
      hint: 'Ask again in a moment.',
    });
  return new FarmError('conflict', `The forge refuses the pull request (${status}).`, {
    hint: 'Is the target branch there, and does the branch differ from it? --target BRANCH names another one.',
  });
}
