import type { Dispatcher } from 'undici';
import type { z } from 'zod';
import { FarmError, identityPaths, TokenReply, type TokenRequest } from '#contracts';
import { ask, jsonOf } from '../controller/ask.js';
import type { TokenSource } from '../controller/farm.js';
import type { Log } from '../log.js';
import { faultOf } from '../log.js';
import { machineClock } from '../process/monotonic.js';
import { askChallenge } from './enrol.js';
import { type EnrolledIdentity, signWith } from './identity-file.js';

type Grant = z.output<typeof TokenReply>;
export type NatsUser = NonNullable<Grant['nats']>;

interface Held {
  readonly token: string;
  /** On the monotonic clock. */
  readonly renewAt: number;
  readonly endsAt: number;
}

/**
 * The worker's token: by a signed challenge, for the boot of this process (D16), renewed well before it ends and when it is
 * refused. Its NATS user comes and is renewed with it.
 */
export class WorkerToken implements TokenSource {
  private held: Held | undefined;
  private asking: Promise<string> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private closed = false;

  constructor(
    private readonly identity: EnrolledIdentity,
    readonly boot: string,
    private readonly host: string,
    private readonly dispatcher: Dispatcher,
    private readonly log: Log,
    private readonly onNatsUser: (user: NatsUser | undefined) => void,
  ) {}

  async token(): Promise<string> {
    const { held } = this;
    if (held !== undefined && machineClock.now() < held.endsAt) return held.token;
    return this.ask();
  }

  async renew(refused: string): Promise<string> {
    if (this.held !== undefined && this.held.token !== refused) return this.held.token;
    return this.ask();
  }

  /**
   * The first token of this process.
   *
   * @throws FarmError `identity_in_use` naming the other host · `unavailable`
   */
  async obtain(): Promise<void> {
    await this.ask();
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
  }

  private ask(): Promise<string> {
    this.asking ??= this.askOnce().finally(() => {
      this.asking = undefined;
    });
    return this.asking;
  }

  private async askOnce(): Promise<string> {
    const { identity, boot, host, dispatcher } = this;
    const principal = identity.enrolled.worker_id;
    const { challenge } = await askChallenge(identity.url, dispatcher);
    const body: TokenRequest = {
      principal,
      challenge,
      signature: signWith(identity, `token\n${challenge}\n${principal}\n${boot}`),
      boot,
      host,
    };
    const sentAt = machineClock.now();
    const answer = await ask({
      method: 'POST',
      url: new URL(identityPaths.token, identity.url).href,
      dispatcher,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      timeoutMs: 10_000,
    });
    const reply = TokenReply.safeParse(await jsonOf(answer));
    if (!reply.success)
      throw new FarmError('invalid_output', 'The answer to the token request does not fit its contract.');
    const lifeMs = reply.data.expires_in_seconds * 1_000;
    this.held = { token: reply.data.token, renewAt: sentAt + lifeMs * (2 / 3), endsAt: sentAt + lifeMs * 0.95 };
    this.onNatsUser(reply.data.nats);
    this.renewLater(this.held.renewAt - machineClock.now());
    return reply.data.token;
  }

  /** Before it ends, so that no call waits for it and the bell never has a user that is over. */
  private renewLater(afterMs: number): void {
    clearTimeout(this.timer);
    if (this.closed) return;
    this.timer = setTimeout(
      () => {
        this.ask().catch((error: unknown) => {
          this.log.warn({ fault: faultOf(error) }, 'the token could not be renewed yet');
          this.renewLater(5_000);
        });
      },
      Math.max(100, afterMs),
    );
    this.timer.unref();
  }
}
