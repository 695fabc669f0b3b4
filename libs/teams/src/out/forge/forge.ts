import { FarmError, type PullRequest } from '#contracts';
import type { ForgeAnswer } from './forge-api.js';

export type FoundRequest = Omit<PullRequest, 'created'>;

interface RequestToMake {
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

/** `team/app` as a path. */
export const segments = (project: string): string => project.split('/').map(encodeURIComponent).join('/');

export function readList<One>({ status, body }: ForgeAnswer, read: (body: unknown) => One): readonly One[] {
  if (status !== 200 || !Array.isArray(body)) throw refusal(status);
  return understood(() => body.map(read));
}

export async function readOne(
  asked: Promise<ForgeAnswer>,
  read: (body: unknown) => FoundRequest,
): Promise<FoundRequest | undefined> {
  const { status, body } = await asked;
  if (status === 404) return undefined;
  if (status !== 200) throw refusal(status);
  return understood(() => read(body));
}

export function made({ status, body }: ForgeAnswer, read: (body: unknown) => FoundRequest): FoundRequest {
  if (status !== 201 && status !== 200) throw refusal(status);
  return understood(() => read(body));
}

function understood<Value>(read: () => Value): Value {
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
