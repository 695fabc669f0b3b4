import { type Forge, made, readList, readOne, segments } from './forge.js';
import type { ForgeApi } from './forge-api.js';
import type { ForgePlace } from './forge-place.js';
import { pullOf } from './pull.js';

/** REST, version 2022-11-28; of GitHub Enterprise under /api/v3. */
export function github(api: ForgeApi, { project, apiHost }: ForgePlace): Forge {
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
      return readList(answer, pullOf)[0];
    },
    read: (number) => readOne(api.ask({ method: 'GET', path: `${pulls}/${number}`, ...how }), pullOf),
    async create({ branch, target, title, body }) {
      const asked = { title, head: branch, base: target, body };
      return made(await api.ask({ method: 'POST', path: pulls, ...how, body: asked }), pullOf);
    },
  };
}
