import { type Forge, made, readList, readOne, segments } from './forge.js';
import type { ForgeApi } from './forge-api.js';
import type { ForgePlace } from './forge-place.js';
import { Pull, pullOf } from './pull.js';

/** Gitea and Forgejo, /api/v1. */
export function gitea(api: ForgeApi, { project }: ForgePlace): Forge {
  const pulls = `/api/v1/repos/${segments(project)}/pulls`;
  const how = { auth: (token: string) => ({ authorization: `token ${token}` }) };
  const isOwn = (name: string | undefined) => name?.toLowerCase() === project.toLowerCase();
  return {
    async find(branch) {
      // It has no filter by branch: page by page, as far as a busy repository may have open ones.
      for (let page = 1; page <= 40; page += 1) {
        const query = new URLSearchParams({ state: 'open', page: String(page), limit: '50' });
        const answer = await api.ask({ method: 'GET', path: `${pulls}?${query}`, ...how });
        const list = readList(answer, (one) => ({ head: Pull.parse(one).head, pull: pullOf(one) }));
        // A branch of this name in somebody's fork is not ours.
        const ours = list.find(({ head }) => head?.ref === branch && isOwn(head.repo?.full_name));
        if (ours !== undefined) return ours.pull;
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
