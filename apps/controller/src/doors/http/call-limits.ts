import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { FarmError } from '#contracts';
import { networkOf, type Principal } from '#gate';

type Limiter = ReturnType<FastifyInstance['createRateLimit']>;

const minute = 60_000;

/**
 * How often one may call: a person or an agent by who it is, once that is known; before that, whoever asks for a credential by
 * address. Workers are bounded by their slots and are not counted: a claim costs nothing here. Counted by each controller for itself.
 */
export class CallLimits {
  private byPrincipal: Limiter | undefined;
  private byAddress: Limiter | undefined;
  private readonly keys = new WeakMap<FastifyRequest, string>();

  /** Of the calls per minute; 0 for no limit. */
  constructor(private readonly most: { readonly callsPerMinute: number; readonly signInsPerMinute: number }) {}

  /** Before the routes that ask for it. */
  hangIn(instance: FastifyInstance): void {
    const { callsPerMinute, signInsPerMinute } = this.most;
    instance.register(rateLimit, { global: false });
    instance.after(() => {
      const keyGenerator = (request: FastifyRequest) => this.keys.get(request) ?? networkOf(request.ip);
      const limiter = (max: number) => instance.createRateLimit({ max, timeWindow: minute, keyGenerator });
      if (callsPerMinute > 0) this.byPrincipal = limiter(callsPerMinute);
      if (signInsPerMinute > 0) this.byAddress = limiter(signInsPerMinute);
    });
  }

  /** Errors: FarmError too_many_requests, with the time after which the next call goes through. */
  async countCall(request: FastifyRequest, principal: Principal): Promise<void> {
    if (principal.kind === 'worker' || this.byPrincipal === undefined) return;
    this.keys.set(request, principal.id);
    await count(this.byPrincipal, request, `${this.most.callsPerMinute} calls a minute`);
  }

  /** The same for who is nobody yet. */
  async countSignIn(request: FastifyRequest): Promise<void> {
    if (this.byAddress === undefined) return;
    await count(this.byAddress, request, `${this.most.signInsPerMinute} attempts a minute from one address`);
  }
}

async function count(limiter: Limiter, request: FastifyRequest, most: string): Promise<void> {
  const counted = await limiter(request);
  if (counted.isAllowed || !counted.isExceeded) return;
  throw new FarmError('too_many_requests', `More than ${most}`, {
    hint: 'Wait as long as Retry-After says. An admin sets the limits under [api] of longshore.toml.',
    retryAfterMs: Math.max(1, counted.ttl),
  });
}
