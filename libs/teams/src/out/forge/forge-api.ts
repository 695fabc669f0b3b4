import { request } from 'undici';
import { FarmError } from '#contracts';
import { pinnedAgent } from '../../source/pinned-agent.js';

interface Opening {
  readonly host: string;
  readonly port: number;
  /** Judged before: no name server is asked again (H30). */
  readonly addresses: readonly string[];
  /** Secret: goes into a header and nowhere else. */
  readonly token: string;
  readonly caFile?: string;
  readonly signal: AbortSignal;
}

export interface ForgeAnswer {
  readonly status: number;
  /** Nothing where the body was no JSON. */
  readonly body: unknown;
}

interface Asked {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** Builds the header that shows the token; absent: the call shows none. */
  readonly auth?: (token: string) => Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** The API of one forge, at the one address that was judged; redirects are not followed. */
export interface ForgeApi {
  /** @throws source_unavailable (no answer), source_refused (the token is not taken) */
  ask(asked: Asked): Promise<ForgeAnswer>;
  close(): Promise<void>;
}

const timeoutMs = 30_000;
const answerBytes = 4 * 1024 * 1024;

export async function openForgeApi(opening: Opening): Promise<ForgeApi> {
  const { host, port, addresses, token, signal, caFile } = opening;
  const agent = await pinnedAgent({ addresses, caFile, timeoutMs }, { maxResponseSize: answerBytes });
  const origin = `https://${host}${port === 443 ? '' : `:${port}`}`;
  return {
    async ask({ method, path, auth, headers = {}, body }) {
      const answer = await request(`${origin}${path}`, {
        method,
        dispatcher: agent,
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
        headers: {
          'user-agent': 'longshore',
          accept: 'application/json',
          ...headers,
          ...auth?.(token),
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
        .then(async ({ statusCode: status, body: read }) => ({ status, text: await read.text() }))
        .catch((cause: unknown) => {
          throw new FarmError('source_unavailable', 'The API of the forge does not answer.', {
            hint: 'Whether a pull request was opened is looked at first when you ask again.',
            cause,
          });
        });
      if (auth && (answer.status === 401 || answer.status === 403)) throw tokenRefused();
      return { status: answer.status, body: jsonOf(answer.text) };
    },
    close: () => agent.destroy(),
  };
}

function tokenRefused(): FarmError {
  return new FarmError('source_refused', 'The forge does not let the token of this repository open pull requests.', {
    hint: 'Give the repository a token that may: longshore repo add --replace --token-file FILE.',
  });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
