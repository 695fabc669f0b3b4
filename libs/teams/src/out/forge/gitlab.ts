import { z } from 'zod';
import { type Forge, type FoundRequest, made, readList, readOne } from './forge.js';
import type { ForgeApi } from './forge-api.js';
import type { ForgePlace } from './forge-place.js';

const MergeRequest = z.object({
  iid: z.int(),
  web_url: z.string(),
  state: z.enum(['opened', 'closed', 'merged', 'locked']),
  source_project_id: z.int(),
  target_project_id: z.int(),
});

function isOwn(body: unknown): boolean {
  const { source_project_id, target_project_id } = MergeRequest.parse(body);
  return source_project_id === target_project_id;
}

function mergeRequestOf(body: unknown): FoundRequest {
  const { iid, web_url: url, state } = MergeRequest.parse(body);
  return { number: iid, url, state: state === 'merged' || state === 'closed' ? state : 'open' };
}

/** REST, /api/v4; a merge request is known by its iid. */
export function gitlab(api: ForgeApi, { project }: ForgePlace): Forge {
  const requests = `/api/v4/projects/${encodeURIComponent(project)}/merge_requests`;
  const how = { auth: (token: string) => ({ 'private-token': token }) };
  return {
    async find(branch) {
      const query = new URLSearchParams({ source_branch: branch, state: 'opened' });
      const answer = await api.ask({ method: 'GET', path: `${requests}?${query}`, ...how });
      // A branch of this name in somebody's fork is not ours.
      return readList(answer, (one) => ({ isOwn: isOwn(one), found: mergeRequestOf(one) })).find((one) => one.isOwn)
        ?.found;
    },
    read: (number) => readOne(api.ask({ method: 'GET', path: `${requests}/${number}`, ...how }), mergeRequestOf),
    async create({ branch, target, title, body: description }) {
      const asked = { source_branch: branch, target_branch: target, title, description };
      return made(await api.ask({ method: 'POST', path: requests, ...how, body: asked }), mergeRequestOf);
    },
  };
}
