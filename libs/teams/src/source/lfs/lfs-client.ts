import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Agent, request } from 'undici';
import { z } from 'zod';
import { FarmError, limits, Sha256, systemCodeOf } from '#contracts';
import type { Remote } from '#git';
import { judgedAddresses } from '../address-rules.js';
import { pinnedAgent } from '../pinned-agent.js';
import type { SourceRules } from '../source-rules.js';
import { readSourceUrl } from '../source-url.js';
import { lfsEndpoint, needsHttps } from './lfs-endpoint.js';

/** A file that a pointer names. */
export interface LfsObject {
  /** sha256 of its bytes. */
  readonly oid: string;
  readonly size: number;
}

/** Where the answer of a batch says that an object lies. */
interface Place {
  readonly href: string;
  readonly header: Readonly<Record<string, string>>;
}

const mediaType = 'application/vnd.git-lfs+json';
const timeoutMs = 30_000;
const redirects = new Set([301, 302, 303, 307, 308]);
/** What no stranger sets on our connection. */
const ownHeaders = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'upgrade', 'expect']);

const BatchReply = z.object({
  transfer: z.string().optional(),
  objects: z
    .array(
      z.object({
        oid: Sha256,
        error: z.object({ code: z.int() }).optional(),
        actions: z
          .object({ download: z.object({ href: z.string(), header: z.record(z.string(), z.string()).optional() }) })
          .optional(),
      }),
    )
    .max(limits.lfsBatch),
});

/**
 * Asks one repository's LFS server, at the addresses that were judged for the repository: batch calls and downloads of the transfer
 * `basic`. No redirect is followed. An object may lie at another host when the answer says so: over https, at addresses that are
 * judged the same, and without the repository's credential (H30).
 */
export class LfsClient {
  private readonly agents = new Map<string, Agent>();

  private constructor(
    private readonly remote: Exclude<Remote, { protocol: 'file' }>,
    private readonly rules: SourceRules,
    private readonly signal: AbortSignal,
  ) {}

  /** @throws FarmError source_refused for an origin that is not https */
  static open(remote: Remote, rules: SourceRules, signal: AbortSignal): LfsClient {
    if (remote.protocol !== 'https') throw needsHttps();
    return new LfsClient(remote, rules, signal);
  }

  /**
   * Writes each object into the file of its draft, checked by size and sha256, and has it kept.
   *
   * @throws FarmError source_unavailable, source_refused, disk_full
   */
  async fetch(
    objects: readonly LfsObject[],
    draftOf: (object: LfsObject) => string,
    keep: (object: LfsObject) => Promise<void>,
  ): Promise<void> {
    for (let from = 0; from < objects.length; from += limits.lfsBatch) {
      const some = objects.slice(from, from + limits.lfsBatch);
      const places = await this.batch(some);
      for (const object of some) {
        await this.download(object, places.get(object.oid), draftOf(object));
        await keep(object);
      }
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.agents.values()].map((agent) => agent.destroy()));
  }

  private async batch(objects: readonly LfsObject[]): Promise<ReadonlyMap<string, Place>> {
    const url = `${lfsEndpoint(this.remote.url)}/objects/batch`;
    const answer = await this.ask(url, {
      method: 'POST',
      headers: { accept: mediaType, 'content-type': mediaType, ...this.credential() },
      body: JSON.stringify({
        operation: 'download',
        transfers: ['basic'],
        hash_algo: 'sha256',
        objects: objects.map(({ oid, size }) => ({ oid, size })),
      }),
    });
    const reply = BatchReply.safeParse(jsonOf(await textOf(answer, limits.lfsBatchReplyBytes)));
    if (!reply.success || (reply.data.transfer ?? 'basic') !== 'basic')
      throw unavailable('The LFS server of the origin answers in another way than this controller understands.');
    const places = new Map<string, Place>();
    for (const { oid, error, actions } of reply.data.objects) {
      if (error === undefined && actions !== undefined)
        places.set(oid, { href: actions.download.href, header: actions.download.header ?? {} });
    }
    return places;
  }

  private async download({ oid, size }: LfsObject, place: Place | undefined, path: string): Promise<void> {
    if (place === undefined)
      throw unavailable('The LFS server of the origin does not have a file that the commit points to.', {
        hint: 'Push it there (git lfs push --all), then resume the Task.',
      });
    const url = URL.parse(place.href);
    if (url?.protocol !== 'https:' || url.username !== '' || url.password !== '')
      throw refused('The LFS server of the origin names a place for a file that is not plain https.');
    url.hash = '';
    const given = Object.fromEntries(
      Object.entries(place.header).filter(([name]) => !ownHeaders.has(name.toLowerCase())),
    );
    const shows = Object.keys(given).some((name) => name.toLowerCase() === 'authorization');
    const own = this.isOwnHost(url) && !shows ? this.credential() : {};
    const body = await this.ask(url.href, { method: 'GET', headers: { ...given, ...own } });
    const hash = createHash('sha256');
    let bytes = 0;
    const checked = async function* (chunks: Readable): AsyncGenerator<Buffer> {
      for await (const chunk of chunks) {
        if (!(chunk instanceof Uint8Array)) continue;
        bytes += chunk.length;
        if (bytes > size) throw otherContent();
        hash.update(chunk);
        yield Buffer.from(chunk);
      }
    };
    await pipeline(body, checked, createWriteStream(path, { mode: 0o600, flush: true })).catch((cause: unknown) => {
      if (cause instanceof FarmError) throw cause;
      throw systemCodeOf(cause) === 'ENOSPC' ? new FarmError('disk_full') : broken(cause);
    });
    if (bytes !== size || hash.digest('hex') !== oid) throw otherContent();
  }

  private async ask(
    url: string,
    call: { method: 'GET' | 'POST'; headers: Readonly<Record<string, string>>; body?: string },
  ): Promise<Readable> {
    const dispatcher = await this.agentFor(new URL(url));
    const { statusCode, body } = await request(url, {
      ...call,
      headers: { 'user-agent': 'longshore', 'accept-encoding': 'identity', ...call.headers },
      dispatcher,
      signal: this.signal,
    }).catch((cause: unknown) => {
      throw broken(cause);
    });
    if (statusCode === 200) return body;
    await body.dump({ limit: 64 * 1024 }).catch(() => undefined);
    if (redirects.has(statusCode))
      throw refused(
        'The LFS server of the origin sends callers on to another address, and redirects are not followed.',
      );
    if (statusCode === 401 || statusCode === 403)
      throw unavailable(
        'The LFS server of the origin wants a credential, or does not accept the one of this repository.',
        {
          hint: 'Register the repository with a token that may read it (longshore repo add --replace --token-file FILE), then resume the Task.',
        },
      );
    if (statusCode === 404)
      throw unavailable(
        'The origin has no LFS server at the address of the repository, or the credential may not see it.',
      );
    throw unavailable(`The LFS server of the origin answers with ${statusCode}.`);
  }

  /** One for each host and port, at addresses judged when it is first met. */
  private async agentFor(url: URL): Promise<Agent> {
    const known = this.agents.get(url.host);
    if (known !== undefined) return known;
    const { caFile } = this.rules;
    const addresses = this.isOwnHost(url) ? this.remote.addresses : await addressesOf(url, this.rules);
    const agent = await pinnedAgent(
      { addresses, caFile, timeoutMs },
      { bodyTimeout: timeoutMs, headersTimeout: timeoutMs },
    );
    this.agents.set(url.host, agent);
    return agent;
  }

  private isOwnHost(url: URL): boolean {
    return url.host === new URL(this.remote.url).host;
  }

  private credential(): Readonly<Record<string, string>> {
    const { credential } = this.remote;
    if (credential.kind !== 'token') return {};
    return { authorization: `Basic ${Buffer.from(`${credential.username}:${credential.token}`).toString('base64')}` };
  }
}

/** By the rules of origins, its host as strictly spelled. */
async function addressesOf(url: URL, rules: SourceRules): Promise<readonly string[]> {
  const read = readSourceUrl(`https://${url.host}/object`);
  if (read.protocol !== 'https') throw needsHttps();
  return judgedAddresses(read, rules);
}

async function textOf(body: Readable, most: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      if (!(chunk instanceof Uint8Array)) continue;
      bytes += chunk.length;
      if (bytes > most) throw unavailable('The LFS server of the origin answers with more than a batch may hold.');
      chunks.push(chunk);
    }
  } catch (cause) {
    throw cause instanceof FarmError ? cause : broken(cause);
  }
  return Buffer.concat(chunks).toString();
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const unavailable = (detail: string, more: { hint?: string; cause?: unknown } = {}): FarmError =>
  new FarmError('source_unavailable', detail, more);

const refused = (detail: string): FarmError =>
  new FarmError('source_refused', detail, { hint: 'Register the repository without --lfs to work with the pointers.' });

const broken = (cause: unknown): FarmError =>
  unavailable('The LFS server of the origin can not be reached, or breaks off.', {
    hint: 'Resume the Task when it answers again.',
    cause,
  });

const otherContent = (): FarmError =>
  refused('The LFS server of the origin sent another content than the commit points to.');
