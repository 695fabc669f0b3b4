import { execFileSync } from 'node:child_process';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import type { ForgeKind } from '#contracts';
import type { HttpsOrigin } from './git-origin.js';

interface Opened {
  readonly number: number;
  readonly branch: string;
  readonly target: string;
  readonly title: string;
  readonly body: string;
  /** From a fork of somebody's. */
  readonly foreign?: boolean;
  state: 'open' | 'closed' | 'merged';
}

export interface FakeForge {
  readonly opened: Opened[];
  /** Methods and paths that were asked for, without the query. */
  readonly asked: string[];
  /** The next answer to a POST is lost after it was done. */
  loseNextAnswer: boolean;
  /** Another one that is made just before the next POST, as by somebody at the same moment. */
  raceNext: boolean;
}

/** Request bodies as the public API descriptions of the three have them; a field that they do not know fails the test. */
const bodies = {
  // api.github.com, "Create a pull request"
  github: z.strictObject({
    title: z.string().min(1).max(256),
    head: z.string().min(1),
    base: z.string().min(1),
    body: z.string().optional(),
    draft: z.boolean().optional(),
    maintainer_can_modify: z.boolean().optional(),
  }),
  // docs.gitlab.com, "Create MR"
  gitlab: z.strictObject({
    source_branch: z.string().min(1),
    target_branch: z.string().min(1),
    title: z.string().min(1).max(255),
    description: z.string().max(1_048_576).optional(),
    remove_source_branch: z.boolean().optional(),
  }),
  // Gitea's swagger, CreatePullRequestOption
  gitea: z.strictObject({
    title: z.string().min(1).max(255),
    head: z.string().min(1),
    base: z.string().min(1),
    body: z.string().optional(),
    labels: z.array(z.int()).optional(),
  }),
};

const queries = {
  github: z.strictObject({ head: z.string().regex(/^team:/), state: z.enum(['open', 'closed', 'all']) }),
  gitlab: z.strictObject({ source_branch: z.string(), state: z.enum(['opened', 'closed', 'locked', 'merged', 'all']) }),
  gitea: z.strictObject({
    state: z.enum(['open', 'closed', 'all']),
    page: z.string().regex(/^\d+$/),
    limit: z.string().regex(/^\d+$/),
  }),
};

const roots = {
  github: '/api/v3/repos/team/app/pulls',
  gitlab: '/api/v4/projects/team%2Fapp/merge_requests',
  gitea: '/api/v1/repos/team/app/pulls',
};

/**
 * The API of a forge in front of an origin under test, for its repository `team/app` at `bare`: it checks each request against the
 * public description, knows the branches of the repository, and refuses a second request for one branch as the real one does.
 */
export function aForge(kind: ForgeKind, origin: HttpsOrigin, bare: string, token: string): FakeForge {
  const forge: FakeForge = { opened: [], asked: [], loseNextAnswer: false, raceNext: false };
  const root = roots[kind];
  origin.instead = (request, response) => {
    const url = new URL(request.url ?? '/', 'https://forge');
    if (!url.pathname.startsWith('/api/')) return false;
    forge.asked.push(`${request.method} ${url.pathname}`);
    answer(request, response, url).catch((error: unknown) => {
      forge.asked.push(`fault: ${String(error)}`);
      send(response, 500, { message: String(error) });
    });
    return true;
  };

  async function answer(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    if (kind === 'gitea' && url.pathname === '/api/v1/version') return send(response, 200, { version: '1.22.6' });
    if (!url.pathname.startsWith(root)) return send(response, 404, { message: 'Not Found' });
    if (!isShown(request, token)) return send(response, 401, { message: 'Requires authentication' });
    const rest = url.pathname.slice(root.length);
    if (request.method === 'POST' && rest === '') return create(request, response);
    if (request.method !== 'GET') return send(response, 405, {});
    if (rest !== '') {
      const one = forge.opened.find(({ number }) => `/${number}` === rest);
      return one ? send(response, 200, shown(one)) : send(response, 404, { message: 'Not Found' });
    }
    queries[kind].parse(Object.fromEntries(url.searchParams));
    const branch = url.searchParams.get('head')?.replace('team:', '') ?? url.searchParams.get('source_branch');
    const open = forge.opened.filter(
      (one) =>
        one.state === 'open' &&
        (branch === null || one.branch === branch) &&
        // `head=team:branch` of GitHub is of that owner alone
        !(kind === 'github' && one.foreign === true),
    );
    const page = Number(url.searchParams.get('page') ?? 1);
    const size = kind === 'gitea' ? 1 : 100;
    send(response, 200, open.slice((page - 1) * size, page * size).map(shown));
  }

  async function create(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const given: unknown = JSON.parse(await textOf(request));
    const wanted = readBody(given);
    const make = () => forge.opened.push({ ...wanted, number: forge.opened.length + 1, state: 'open' });
    if (forge.raceNext) make();
    forge.raceNext = false;
    const unknown = [wanted.branch, wanted.target].find((name) => !holds(bare, name));
    if (
      unknown !== undefined ||
      forge.opened.some((one) => one.branch === wanted.branch && one.state === 'open' && one.foreign !== true)
    ) {
      const duplicate = kind === 'github' ? 422 : 409;
      return send(response, unknown === undefined ? duplicate : 422, { message: 'Validation Failed' });
    }
    make();
    if (forge.loseNextAnswer) {
      forge.loseNextAnswer = false;
      return void response.socket?.destroy();
    }
    const made = forge.opened.at(-1);
    if (made) send(response, 201, shown(made));
  }

  function readBody(given: unknown): Omit<Opened, 'number' | 'state'> {
    if (kind === 'gitlab') {
      const { source_branch, target_branch, title, description = '' } = bodies.gitlab.parse(given);
      return { branch: source_branch, target: target_branch, title, body: description };
    }
    const { head, base, title, body = '' } = bodies[kind].parse(given);
    return { branch: head, target: base, title, body };
  }

  /** Members of the real answers, those that we read among many. */
  function shown(one: Opened): object {
    const url = `https://forge.example.test/team/app/${one.number}`;
    if (kind === 'gitlab') {
      return {
        id: 9000 + one.number,
        iid: one.number,
        web_url: url,
        state: one.state === 'open' ? 'opened' : one.state,
        source_branch: one.branch,
        source_project_id: one.foreign === true ? 2 : 1,
        target_project_id: 1,
        target_branch: one.target,
        title: one.title,
        merge_status: 'can_be_merged',
      };
    }
    return {
      id: 9000 + one.number,
      number: one.number,
      html_url: url,
      state: one.state === 'open' ? 'open' : 'closed',
      merged_at: one.state === 'merged' ? '2026-01-01T00:00:00Z' : null,
      title: one.title,
      head: {
        ref: one.branch,
        label: one.branch,
        repo: { full_name: one.foreign === true ? 'stranger/app' : 'team/app' },
      },
      base: { ref: one.target },
      ...(kind === 'gitea' && { merged: one.state === 'merged' }),
    };
  }
  return forge;

  function isShown({ headers }: IncomingMessage, secret: string): boolean {
    if (kind === 'gitlab') return headers['private-token'] === secret;
    if (kind === 'gitea') return headers.authorization === `token ${secret}`;
    const versioned = headers['x-github-api-version'] === '2022-11-28' && headers['user-agent'] !== undefined;
    return versioned && headers.authorization === `Bearer ${secret}`;
  }
}

function holds(bare: string, branch: string): boolean {
  try {
    execFileSync('git', ['--git-dir', bare, 'rev-parse', '--verify', '--quiet', `refs/heads/${branch}`], {
      stdio: 'ignore',
    });
    return true;
  } catch {
    return false;
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
