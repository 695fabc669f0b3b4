import { createPrivateKey, sign } from 'node:crypto';
import { z } from 'zod';
import { Challenge, type CredentialFile, identityPaths, TokenReply } from '#contracts';
import { RemoteError } from '../output/failure.js';
import { writePrivateJson } from '../services/private-file.js';
import type { Bearer } from './bearer.js';
import { readSecretFile } from './private-read.js';
import type { SendJson } from './send-json.js';

/** The farm does not say why; for a login there is one way out of all of it. */
function overLogin(error: unknown, url: string): unknown {
  if (!(error instanceof RemoteError) || error.problem.code !== 'unauthenticated') return error;
  return new RemoteError({
    ...error.problem,
    detail: 'The farm does not take this login: it has ended, or its person is not let in.',
    hint: `Log in again: longshore login ${url}`,
  });
}

const CachedToken = z.strictObject({
  url: z.string(),
  farm_id: z.string(),
  principal: z.string(),
  session: z.string().exactOptional(),
  token: z.string(),
  /** Epoch milliseconds of this machine's clock: only when to ask again, the farm judges the token. */
  until: z.number(),
});

/** Used up to this long before it ends, so that a call that travels does not arrive too late. */
const marginMs = 30_000;

/** Where the token lies that was got with this credential. */
export function tokenPath(credentialFile: string): string {
  return credentialFile.replace(/(\.json)?$/, '.token.json');
}

/** The bearer of a person, asked for by signing a challenge and kept beside the credential (0600) until it ends. */
export class PersonToken implements Bearer {
  constructor(
    private readonly credential: CredentialFile,
    private readonly credentialFile: string,
    private readonly send: SendJson,
    private readonly now: () => number = Date.now,
  ) {}

  async get(): Promise<string> {
    const { url, farm_id, principal, session } = this.credential;
    const kept = await this.read();
    const own =
      kept !== undefined &&
      kept.url === url &&
      kept.farm_id === farm_id &&
      kept.principal === principal &&
      kept.session === session;
    if (own && kept.until - marginMs > this.now()) return kept.token;
    return await this.renew();
  }

  /** Asks for another one, whatever is kept: a farm that was reset refuses the old one. */
  async renew(): Promise<string> {
    const { url, principal, farm_id, private_key, session } = this.credential;
    const { challenge } = Challenge.parse(await this.send('GET', `${url}${identityPaths.challenge}`));
    const key = createPrivateKey({ key: Buffer.from(private_key, 'base64url'), format: 'der', type: 'pkcs8' });
    const signature = sign(null, Buffer.from(`token\n${challenge}\n${principal}\n`), key).toString('base64url');
    const reply = TokenReply.parse(
      await this.send('POST', `${url}${identityPaths.token}`, {
        body: { principal, challenge, signature, ...(session !== undefined && { session }) },
      }).catch((error: unknown) => {
        throw session === undefined ? error : overLogin(error, url);
      }),
    );
    const until = this.now() + reply.expires_in_seconds * 1000;
    // A folder that can not be written is no reason to fail: the next call asks again.
    await writePrivateJson(this.path, {
      ...{ url, farm_id, principal, token: reply.token, until },
      ...(session !== undefined && { session }),
    }).catch(() => undefined);
    return reply.token;
  }

  private get path(): string {
    return tokenPath(this.credentialFile);
  }

  private async read(): Promise<z.output<typeof CachedToken> | undefined> {
    try {
      return CachedToken.parse(JSON.parse((await readSecretFile(this.path)) ?? ''));
    } catch {
      return undefined;
    }
  }
}
