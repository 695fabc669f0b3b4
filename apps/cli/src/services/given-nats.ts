import { FarmError } from '#contracts';
import { readIfThere } from './private-file.js';

/** How a controller logs in at the nats-server. */
type NatsLogin =
  | { readonly kind: 'creds'; readonly creds: string }
  | { readonly kind: 'password'; readonly user: string; readonly password: string }
  | { readonly kind: 'token'; readonly token: string };

/** A nats-server as the farm uses it. */
export interface FarmNats {
  /** Without credentials. */
  readonly url: string;
  readonly login: NatsLogin;
  /** Signs the users of workers (H23). Without it they get none, and their rings come with the answer of a waiting claim. */
  readonly accountSeed: string | undefined;
}

export interface GivenNats {
  readonly url: string;
  /** Path of a creds file, instead of credentials in the URL. */
  readonly credsFile?: string | undefined;
  /** Path of a file that holds the account's seed. */
  readonly accountSeedFile?: string | undefined;
}

/** An existing server, named by NATS_URL with credentials. FarmError misconfigured, never with the URL: it may hold a password. */
export async function useGivenNats(given: GivenNats): Promise<FarmNats> {
  const url = URL.canParse(given.url) ? new URL(given.url) : undefined;
  if (url === undefined || !['nats:', 'tls:'].includes(url.protocol)) {
    throw new FarmError('misconfigured', 'NATS_URL is not the address of a nats-server.', {
      hint: 'The form is nats://user:password@host:4222.',
    });
  }
  const login = await loginOf(url, given.credsFile);
  const accountSeed = await readNamed(given.accountSeedFile, 'NATS_ACCOUNT_SEED_FILE');
  url.username = '';
  url.password = '';
  return { url: url.href.replace(/\/$/, ''), login, accountSeed: accountSeed?.trim() };
}

async function loginOf(url: URL, credsFile: string | undefined): Promise<NatsLogin> {
  const creds = await readNamed(credsFile, 'NATS_CREDS');
  if (creds !== undefined) return { kind: 'creds', creds };
  const [user, password] = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
  if (user !== '' && password !== '') return { kind: 'password', user, password };
  if (user !== '') return { kind: 'token', token: user };
  throw new FarmError(
    'misconfigured',
    'NATS_URL comes without credentials, and an open nats-server lets anybody ring.',
    {
      hint: 'Put user and password (or a token) into NATS_URL, or the path of a creds file into NATS_CREDS.',
    },
  );
}

async function readNamed(path: string | undefined, variable: string): Promise<string | undefined> {
  if (path === undefined || path === '') return undefined;
  const text = await readIfThere(path);
  if (text !== undefined) return text;
  throw new FarmError('misconfigured', `The file that ${variable} names is not there.`, {
    hint: `Correct or unset ${variable}.`,
  });
}
