import { connect, credsAuthenticator, type NatsConnection, type Subscription } from '@nats-io/transport-node';

/**
 * "Look again", never content (H25). A ring may be lost, doubled or late without effect, so nothing here throws or waits:
 * without NATS the farm looks by itself (H18).
 */
export interface Bell {
  ring(subject: string): void;
  /**
   * Calls `hear` with the subject of each ring, for as long as the bell lives. `*` stands for any part of one; where rings may have
   * been missed `hear` is called with what it listens to.
   */
  listen(subject: string, hear: Hear): () => void;
  readonly connected: boolean;
  close(): Promise<void>;
}

type Hear = (subject: string) => void;

/** Before the first connection and after a refusal: the next try. */
const retryMs = 1_000;

interface BellOptions {
  readonly url: string;
  /** The text of a NATS credentials file. */
  readonly creds?: string;
  readonly name?: string;
  readonly onChange?: (connected: boolean) => void;
}

/** Connects in the background and again whenever the connection is lost. */
export function openBell(options: BellOptions): Bell {
  return new NatsBell(options);
}

/** The farm without NATS. */
export const silentBell: Bell = {
  ring() {},
  listen() {
    return () => {};
  },
  connected: false,
  async close() {},
};

class NatsBell implements Bell {
  private readonly hearers = new Map<string, Set<Hear>>();
  private readonly subscriptions = new Map<string, Subscription>();
  private connection: NatsConnection | undefined;
  private up = false;
  private closed = false;
  private retry: NodeJS.Timeout | undefined;

  constructor(private readonly options: BellOptions) {
    void this.connect();
  }

  get connected(): boolean {
    return this.up;
  }

  ring(subject: string): void {
    if (!this.up) return;
    try {
      this.connection?.publish(subject);
    } catch {
      // A bell that can not be rung is a bell that nobody hears: they look by themselves.
    }
  }

  listen(subject: string, hear: Hear): () => void {
    const hearers = this.hearers.get(subject) ?? new Set();
    this.hearers.set(subject, hearers.add(hear));
    this.subscribe(subject);
    return () => {
      hearers.delete(hear);
      if (hearers.size > 0 || this.hearers.get(subject) !== hearers) return;
      this.hearers.delete(subject);
      this.subscriptions.get(subject)?.unsubscribe();
      this.subscriptions.delete(subject);
    };
  }

  async close(): Promise<void> {
    this.closed = true;
    clearTimeout(this.retry);
    await this.connection?.close();
  }

  private async connect(): Promise<void> {
    const { url, creds, name = 'longshore' } = this.options;
    const { username, password, host } = new URL(url);
    try {
      const connection = await connect({
        servers: host,
        name,
        reconnect: true,
        maxReconnectAttempts: -1,
        ignoreAuthErrorAbort: true,
        reconnectTimeWait: retryMs,
        timeout: 5_000,
        ...(username && { user: decodeURIComponent(username), pass: decodeURIComponent(password) }),
        ...(creds && { authenticator: credsAuthenticator(new TextEncoder().encode(creds)) }),
      });
      if (this.closed) return await connection.close();
      this.connection = connection;
      this.change(true);
      for (const subject of this.hearers.keys()) this.subscribe(subject);
      void this.watch(connection);
    } catch {
      this.tryAgain();
    }
  }

  /** A new subscription, or a connection that came back, rings once: what was missed meanwhile is looked for. */
  private async watch(connection: NatsConnection): Promise<void> {
    for await (const status of connection.status()) {
      if (status.type === 'disconnect') this.change(false);
      if (status.type === 'reconnect') {
        this.change(true);
        for (const [subject, hearers] of this.hearers) for (const hear of hearers) hear(subject);
      }
    }
    this.change(false);
    this.subscriptions.clear();
    this.connection = undefined;
    this.tryAgain();
  }

  private tryAgain(): void {
    if (this.closed) return;
    this.retry = setTimeout(() => void this.connect(), retryMs);
    this.retry.unref();
  }

  private subscribe(subject: string): void {
    if (!this.connection || this.subscriptions.has(subject)) return;
    const subscription = this.connection.subscribe(subject, {
      callback: (error, ring) => {
        if (error) return;
        for (const hear of this.hearers.get(subject) ?? []) hear(ring.subject);
      },
    });
    this.subscriptions.set(subject, subscription);
  }

  private change(up: boolean): void {
    if (this.up === up) return;
    this.up = up;
    this.options.onChange?.(up);
  }
}
