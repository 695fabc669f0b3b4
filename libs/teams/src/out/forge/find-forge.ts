import { z } from 'zod';
import { FarmError, type ForgeKind } from '#contracts';
import type { Forge } from './forge.js';
import type { ForgeApi } from './forge-api.js';
import type { ForgePlace } from './forge-place.js';
import { gitea } from './gitea.js';
import { github } from './github.js';
import { gitlab } from './gitlab.js';

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
