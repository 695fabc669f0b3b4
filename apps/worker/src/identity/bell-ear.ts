import { connect, jwtAuthenticator, type NatsConnection, type Subscription } from '@nats-io/transport-node';
import { type NatsOptions, ServerNats, Transport } from '@nestjs/microservices';
import { bells } from '#contracts';
import { faultOf, type Log } from '../log.js';
import type { NatsUser } from './worker-token.js';

/** Within so long a worker looks that has lost its bell. */
const deafLookMs = 1_000;

/**
 * The worker's ear: Nest's NATS server with another way to connect. Nest's own connects once, before the application starts, and
 * ends with its user's token; here the bell may be away at any time, and a new user takes over on a second connection before the
 * first is closed (H18, H23).
 */
export class BellEar extends ServerNats {
  override readonly transportId = Transport.NATS;
  private current: NatsConnection | undefined;
  private generation = 0;
  private retry: NodeJS.Timeout | undefined;
  private closed = false;

  constructor(
    private readonly worker: string,
    private readonly log: Log,
    private readonly onRing: () => void,
  ) {
    super({} satisfies NonNullable<NatsOptions['options']>);
  }

  /** True while a ring would be heard. */
  get connected(): boolean {
    return this.current !== undefined && !this.current.isClosed() && this.hearing;
  }
  private hearing = false;

  /** Never waits for NATS: work goes on without it. */
  override async listen(callback: () => void): Promise<void> {
    callback();
  }

  /** Takes a new user, or none where NATS is not for workers. */
  use(user: NatsUser | undefined): void {
    this.generation += 1;
    clearTimeout(this.retry);
    if (this.closed) return;
    if (user === undefined) this.replace(undefined);
    else void this.join(user, this.generation);
  }

  override async close(): Promise<void> {
    this.closed = true;
    this.generation += 1;
    clearTimeout(this.retry);
    this.replace(undefined);
  }

  private async join(user: NatsUser, generation: number): Promise<void> {
    try {
      const connection = await connect({
        servers: user.url,
        name: this.worker,
        authenticator: jwtAuthenticator(user.jwt, new TextEncoder().encode(user.seed)),
        timeout: 5_000,
        maxReconnectAttempts: -1,
        reconnectTimeWait: 1_000,
        reconnectJitter: 1_000,
        ignoreAuthErrorAbort: false,
      });
      if (generation !== this.generation) return void connection.close();
      const subscription = connection.subscribe(bells.worker(this.worker));
      // the server has the subscription before the old ear is closed
      await connection.flush();
      if (generation !== this.generation) return void connection.close();
      this.replace(connection);
      this.hearing = true;
      void this.hear(subscription);
      void this.watch(connection, user, generation);
      // what rang between the two is looked for
      this.onRing();
    } catch (error) {
      this.log.debug({ fault: faultOf(error) }, 'the bell is away');
      this.again(user, generation);
    }
  }

  /** A ring says "look again"; what it carries is not read (H25). */
  private async hear(subscription: Subscription): Promise<void> {
    for await (const _ of subscription) this.onRing();
  }

  private async watch(connection: NatsConnection, user: NatsUser, generation: number): Promise<void> {
    for await (const status of connection.status()) {
      if (connection !== this.current) break;
      if (status.type === 'disconnect') this.goDeaf();
      if (status.type === 'reconnect') {
        this.hearing = true;
        this.onRing();
      }
    }
    if (connection !== this.current) return;
    this.hearing = false;
    this.again(user, generation);
  }

  /** The next look asks the controller to hold the claim; until then what rings would be missed. Not all machines in one moment. */
  private goDeaf(): void {
    this.hearing = false;
    setTimeout(() => this.onRing(), Math.random() * deafLookMs).unref();
  }

  private again(user: NatsUser, generation: number): void {
    if (this.closed || generation !== this.generation) return;
    clearTimeout(this.retry);
    this.retry = setTimeout(() => void this.join(user, generation), 2_000 + Math.random() * 1_000);
    this.retry.unref();
  }

  private replace(next: NatsConnection | undefined): void {
    const old = this.current;
    this.current = next;
    if (next === undefined) this.hearing = false;
    old?.close().catch((error: unknown) => this.log.debug({ fault: faultOf(error) }, 'the old bell did not close'));
  }
}
